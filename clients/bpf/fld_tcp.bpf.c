// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * FLD_TCP, flow-length dependent TCP: short flows finish sooner, long ones are as polite as Reno.
 *
 * Moktan et al., "Utilizing Connection Usage Characteristics for Faster Web Data Transport" (2018), section 2.1:
 *   - initial window of 10 segments; slow start triples the window each round trip where others double it;
 *   - after loss, as long as the flow has sent less than 2 MB: Relentless TCP, which takes off the window only what
 *     was lost (Mathis, "Relentless Congestion Control", 2009);
 *   - beyond 2 MB: Reno.
 * What the paper leaves open, and what is done here:
 *   - a flow that crosses the threshold in slow start goes on doubling;
 *   - so does one all whose rest leaves with this round that way, too: a larger burst would only press on the queue;
 *   - so does one whose window has filled the path, as the spacing of acknowledgements tells: three times too much is
 *     lost at the end of a short flow, where only a timeout repairs it;
 *   - a queue behind a filled path ends slow start, as HyStart does for CUBIC; so does one that stands all round long,
 *     filled by others, whom the next, tripled burst would push over its end: until that is known, the window waits;
 *   - Relentless gives up half at most, as Reno does: of a burst before a full queue more than that is lost;
 *   - after a timeout the window is rebuilt by doubling up to half of what it was, as Reno does (RFC 5681);
 *   - a congestion mark (ECN), a full local queue, and a lost tail that a probe repaired halve, at any length;
 *   - after an idle time the window decays (RFC 2861) and a new flow begins to be counted.
 *
 * The kernel leaves the window during recovery, the restart after idle and the pacing rate to whoever has a
 * `cong_control`, which Relentless needs, so that they are here too. Sender's side only; a system's default is never
 * touched: a socket chooses it by setsockopt(TCP_CONGESTION).
 *
 * Units: windows in segments, times in microseconds unless named otherwise.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by who loads this object; tradewind_agent/transport/parameters.py packs the same layout. */
struct fld_parameters {
	__u64 threshold_bytes;  /* acknowledged bytes of a flow up to which it is short */
	__u32 growth_factor;    /* of the window each round trip in slow start */
	__u32 initial_window;   /* segments; 0 leaves the system's and the route's */
	__u8 source_digest[16]; /* tells versions apart */
};
const volatile struct fld_parameters parameters = { 2000000, 3, 10, {} };

#include "fld_reduction.h"
#include "fld_slow_start.h"
#include "fld_state.h"

SEC("struct_ops/fld_init")
void BPF_PROG(fld_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);

	flow->first_byte = tp->bytes_acked;
	flow->lost_before = tp->lost;
	flow->delivered_since = 0;
	flow->round_end = tp->snd_nxt;
	flow->round_rtt = UNKNOWN;
	flow->round_held = 0;
	forget_path(flow);
	flow->reduction = RELENTLESS;
	flow->window_before = tp->snd_cwnd;
	flow->timed_out = 0;
	flow->timed_out_before = 0;
	/* A handshake that had to be repeated leaves a window of one segment (RFC 6298), which stands. */
	if (parameters.initial_window && !tp->data_segs_out && tp->snd_cwnd > 1)
		tp->snd_cwnd = smaller(parameters.initial_window, tp->snd_cwnd_clamp);
}

/* A reduction begins: where the window is to end, unless Relentless learns of more losses on the way. */
SEC("struct_ops/fld_ssthresh")
__u32 BPF_PROG(fld_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);

	flow->delivered_since = 0;
	flow->window_before = tp->snd_cwnd;
	flow->reduction = is_short(tp, flow) ? RELENTLESS : RENO;
	return flow->reduction == RELENTLESS ? larger(tp->snd_cwnd, LEAST_WINDOW) : half(tp);
}

SEC("struct_ops/fld_set_state")
void BPF_PROG(fld_set_state, struct sock *sk, __u8 next)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);
	__u8 last = state_of(sk);

	if (next == TCP_CA_CWR && last < TCP_CA_CWR) {
		flow->reduction = RENO;
		tp->snd_ssthresh = half(tp);
	}
	if (next >= TCP_CA_CWR) { /* a slow start after it is judged by its own */
		flow->late_segments = 0;
		flow->round_rtt = UNKNOWN;
	}
	/*
	 * A timeout. During a reduction the kernel asks for no further one, and the threshold of Relentless is what was not
	 * lost, or all, as fld_ssthresh leaves it. A path's smaller MTU also leads here, with the window untouched.
	 */
	if (next == TCP_CA_Loss && tp->snd_cwnd == in_flight(tp) + 1) {
		if (flow->reduction == RELENTLESS)
			tp->snd_ssthresh = larger(smaller(tp->snd_ssthresh, flow->window_before / 2), LEAST_WINDOW);
		flow->reduction = RENO;
		if (last != TCP_CA_Loss) /* the kernel's marks for an undo are those of the first of several, too */
			flow->timed_out_before = flow->timed_out;
		flow->timed_out = 1;
	}
	/* A reduction is over, and was not found needless (which ends with undo_marker 0): no part of it stays undone. */
	if (next < TCP_CA_CWR && flow->reduction == RENO && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	    (last == TCP_CA_CWR || (last == TCP_CA_Recovery && tp->undo_marker)))
		tp->snd_cwnd = tp->snd_ssthresh;
}

static __always_inline __u32 restart_window(const struct tcp_sock *tp)
{
	return smaller(parameters.initial_window ?: USUAL_INITIAL_WINDOW, tp->snd_cwnd);
}

static __always_inline bool restarts(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle;
}

static __always_inline bool in_reduction(const struct sock *sk)
{
	return state_of(sk) == TCP_CA_CWR || state_of(sk) == TCP_CA_Recovery;
}

/*
 * RFC 2861, as the kernel's tcp_cwnd_restart: half the window for each timeout of idleness, down to the initial one,
 * unless net.ipv4.tcp_slow_start_after_idle says that it stays.
 */
static __always_inline void restart_after_idle(struct sock *sk, struct tcp_sock *tp, struct flow *flow)
{
	__s32 idle_jiffies = (__u32)bpf_jiffies64() - tp->lsndtime;
	__s32 timeout_jiffies = ((struct inet_connection_sock *)sk)->icsk_rto;
	__u32 least = restart_window(tp), window = tp->snd_cwnd;
	int i;

	if (tp->packets_out || idle_jiffies <= timeout_jiffies) /* what a timeout sends again ends no idle time */
		return;
	flow->first_byte = tp->bytes_acked;
	forget_path(flow);
	flow->timed_out = 0;
	if (!restarts(sk))
		return;
	if (!in_reduction(sk)) /* else the threshold is less than the window, on purpose */
		tp->snd_ssthresh = larger(tp->snd_ssthresh, window - window / 4);
	/*
	 * A reduction lasts until something newer arrives, and its end sets the window to the threshold. For a loss before
	 * that, the kernel begins another with the next acknowledgement, which asks fld_ssthresh.
	 */
	flow->reduction = RELENTLESS;
	for (i = 0; i < 16; i++) { /* 2^16 segments are more than any window */
		idle_jiffies -= timeout_jiffies;
		if (idle_jiffies > 0 && window > least)
			window /= 2;
	}
	tp->snd_cwnd = flow->window_before = larger(window, least);
}

SEC("struct_ops/fld_cwnd_event")
void BPF_PROG(fld_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		restart_after_idle(sk, tcp_of(sk), flow_of(sk));
}

/* What the kernel does for those without cong_control (tcp_update_pacing_rate); fq and the size of bursts go by it. */
static __always_inline void pace(struct sock *sk, const struct tcp_sock *tp, const struct flow *flow)
{
	__u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 100 * growth(tp, flow) : PACING_PERCENT;
	__u64 bytes = (__u64)tp->mss_cache * larger(tp->snd_cwnd, tp->packets_out);
	__u64 rate = bytes * percent / 100 * MICROSECONDS;

	if (!tp->srtt_us)
		return;
	rate /= tp->srtt_us >> 3 ?: 1;
	/* The kernel cuts what it is given next into bursts of this rate, before fld_cwnd_event learns of the pause. */
	if (!tp->packets_out && restarts(sk)) {
		__u64 restart = (__u64)restart_window(tp) * tp->mss_cache << sk->sk_pacing_shift;

		rate = rate < restart ? rate : restart;
	}
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

SEC("struct_ops/fld_cong_control")
void BPF_PROG(fld_cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);
	__u32 lost = tp->lost - flow->lost_before; /* also what a timer found, which rs->losses does not tell */
	__u8 state = state_of(sk);

	flow->lost_before = tp->lost;
	if (state == TCP_CA_Recovery && flow->reduction == RELENTLESS)
		shrink_by_what_was_lost(tp, flow, lost, flag);
	if (in_reduction(sk) && flow->reduction == RENO)
		shrink_to_half(tp, flow, rs->acked_sacked, lost, flag);
	else if (state != TCP_CA_Recovery && flag & FLAG_DATA_ACKED) {
		if (in_slow_start(tp))
			watch_round(tp, flow, ack, rs);
		else
			flow->round_end = ack; /* numbers come round: left behind by 2 GiB, it would seem to lie ahead */
		grow(sk, tp, flow, rs->acked_sacked);
	}
	pace(sk, tp, flow);
}

/* A reduction turned out to be needless. */
SEC("struct_ops/fld_undo_cwnd")
__u32 BPF_PROG(fld_undo_cwnd, struct sock *sk)
{
	if (state_of(sk) == TCP_CA_Loss)
		flow_of(sk)->timed_out = flow_of(sk)->timed_out_before;
	return larger(tcp_of(sk)->snd_cwnd, tcp_of(sk)->prior_cwnd);
}

/* In windows, what the send buffer has room for: one under way, and the next, which may be three times as large. */
SEC("struct_ops/fld_sndbuf_expand")
__u32 BPF_PROG(fld_sndbuf_expand, struct sock *sk)
{
	return 1 + growth(tcp_of(sk), flow_of(sk));
}

SEC(".struct_ops")
struct tcp_congestion_ops fld_tcp = {
	.flags = NOT_RESTRICTED,
	.init = (void *)fld_init,
	.ssthresh = (void *)fld_ssthresh,
	.set_state = (void *)fld_set_state,
	.cwnd_event = (void *)fld_cwnd_event,
	.cong_control = (void *)fld_cong_control,
	.undo_cwnd = (void *)fld_undo_cwnd,
	.sndbuf_expand = (void *)fld_sndbuf_expand,
	.name = "fld_tcp",
};
