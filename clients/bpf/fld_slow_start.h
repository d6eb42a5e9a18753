// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How the window of FLD_TCP grows, and what ends slow start; a part of fld_tcp.bpf.c. Units as there.
 */
#pragma once

#include "fld_state.h"

/* Whether the window was what held back the sender: else it stays (RFC 7661), as it says nothing about the path. */
static __always_inline bool window_was_used(const struct tcp_sock *tp, __u32 growth_factor)
{
	if (in_slow_start(tp))
		return tp->snd_cwnd < growth_factor * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Microseconds of a round trip that met no queue, at most. */
static __always_inline __u32 prompt_us(const struct tcp_sock *tp)
{
	__u32 least = tp->rtt_min.s[0].v;

	return least + larger(smaller(least / 8, MOST_DELAY), LEAST_DELAY);
}

/* Its own bursts drain before the next round begins: a queue that even the quickest segment of a round met is others'. */
static __always_inline bool met_others(const struct tcp_sock *tp, const struct flow *flow)
{
	return flow->pipe && flow->round_rtt != UNKNOWN && flow->round_rtt > prompt_us(tp);
}

/*
 * All that is left to send leaves within this round, at two segments for each that is acknowledged. The application has
 * written it all, unless it waits for room to write more.
 */
static __always_inline bool ends_by_doubling(const struct sock *sk, const struct tcp_sock *tp, const struct flow *flow)
{
	__u32 left = tp->write_seq - tp->snd_nxt;
	const struct socket *socket = sk->sk_socket;

	return left && left <= 2 * (flow->round_end - tp->snd_una) && socket && !(socket->flags & WAITS_TO_WRITE);
}

/*
 * Of what was acknowledged, what the window may grow for. Until others' queue has ended slow start, which takes as many
 * late segments, it waits; a window of no more than that would wait for ever.
 */
static __always_inline __u32 not_held(const struct tcp_sock *tp, struct flow *flow, __u32 acked)
{
	__u32 held;

	if (!in_slow_start(tp) || tp->snd_cwnd <= LATE_SEGMENTS || !met_others(tp, flow))
		return acked;
	held = smaller(acked, LATE_SEGMENTS - smaller(flow->round_held, LATE_SEGMENTS));
	flow->round_held += held;
	return acked - held;
}

static __always_inline void grow(const struct sock *sk, struct tcp_sock *tp, struct flow *flow, __u32 acked)
{
	__u32 factor = ends_by_doubling(sk, tp, flow) ? RENO_GROWTH : growth(tp, flow);

	acked = not_held(tp, flow, acked);
	if (!acked || !window_was_used(tp, factor))
		return;
	if (in_slow_start(tp))
		acked = tcp_slow_start(tp, (factor - 1) * acked) / (factor - 1);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/*
 * A round is over: segments came through at the rate of the bottleneck, spaced by it whatever burst they left in. Where
 * the application held some back, the path carries more than that, as another round may tell.
 */
static __always_inline void learn_pipe(struct flow *flow)
{
	__u64 train_us = flow->round_last - flow->round_began, segments;

	if (!flow->round_began || !train_us || flow->round_acked < LEAST_TRAIN || flow->round_rtt == UNKNOWN)
		return;
	if (flow->round_sent > train_us / 2) /* spaced by the application, not by the path */
		return;
	segments = (__u64)flow->round_acked * flow->round_rtt / train_us;
	flow->pipe = larger(flow->pipe, segments < UNKNOWN ? segments : UNKNOWN);
}

/*
 * Sent after a pause, before any of it was acknowledged. The kernel marks the first flight of a connection as limited
 * by the application even if all of it left at once: only the time since its first segment tells. Of what left on
 * acknowledgements, that time is a round trip, however it was spaced.
 */
static __always_inline bool is_of_first_flight(const struct tcp_sock *tp, const struct rate_sample *rs)
{
	return rs->prior_mstamp + rs->snd_interval_us == tp->first_tx_mstamp;
}

/*
 * By a receiver that waited for a second segment, not by a queue. The kernel tells only of a lone segment that is not
 * full; the last of an odd number, or a full one alone, has nothing behind it either.
 */
static __always_inline bool is_maybe_delayed(const struct rate_sample *rs)
{
	return rs->is_ack_delayed || rs->prior_in_flight < 2;
}

/* Slow start by rounds: what fills the path, and whether there is a queue beyond it. */
static __always_inline void watch_round(struct tcp_sock *tp, struct flow *flow, __u32 ack, const struct rate_sample *rs)
{
	__u32 late;

	if ((__s32)(ack - flow->round_end) > 0) {
		learn_pipe(flow);
		flow->round_end = tp->snd_nxt;
		flow->round_began = tp->tcp_mstamp;
		flow->round_acked = 0;
		flow->round_held = 0;
		flow->round_rtt = UNKNOWN;
		flow->round_sent = 0;
	} else {
		flow->round_acked += rs->acked_sacked;
	}
	flow->round_last = tp->tcp_mstamp;
	if (rs->is_app_limited && is_of_first_flight(tp, rs))
		flow->round_sent = larger(flow->round_sent, rs->snd_interval_us);
	if (rs->rtt_us <= 0 || is_maybe_delayed(rs))
		return;
	flow->round_rtt = smaller(flow->round_rtt, rs->rtt_us);
	late = flow->late_segments + smaller(rs->acked_sacked, MOST_LATE_AT_ONCE);
	flow->late_segments = rs->rtt_us > prompt_us(tp) ? late : 0;
	if (!flow->pipe || flow->late_segments < LATE_SEGMENTS) /* one round is no evidence, nor is one acknowledgement */
		return;
	if (tp->snd_cwnd > flow->pipe || (flow->round_acked >= LEAST_TRAIN && met_others(tp, flow)))
		tp->snd_ssthresh = larger(tp->snd_cwnd, LEAST_WINDOW);
}
