// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How much of the window FLD_TCP gives up while a loss is repaired; a part of fld_tcp.bpf.c. Units as there.
 */
#pragma once

#include "fld_state.h"

/*
 * The rest of a recovery is one of Reno. Until now each delivered segment has let out one, of which the kernel has
 * counted those that were sent.
 */
static __always_inline void halve_from_here(struct tcp_sock *tp, struct flow *flow, __u32 target)
{
	flow->reduction = RENO;
	flow->delivered_since = tp->prr_out;
	tp->snd_ssthresh = target;
	tp->snd_cwnd = smaller(tp->snd_cwnd, in_flight(tp) + 1); /* where nothing was delivered that lets out more */
}

/*
 * Each lost segment makes the window one smaller, so that each delivered one lets out one (packet conservation); but
 * for marks, which the kernel does not tell of in a recovery, and for a loss of more than half.
 */
static __always_inline void shrink_by_what_was_lost(struct tcp_sock *tp, struct flow *flow, __u32 lost, int flag)
{
	__u32 least = larger(smaller(flow->window_before / 2, tp->snd_cwnd), LEAST_WINDOW);

	if (flag & FLAG_ECE) {
		halve_from_here(tp, flow, half(tp));
	} else if (tp->snd_cwnd < lost + least) {
		halve_from_here(tp, flow, least);
	} else {
		tp->snd_cwnd -= lost;
		tp->snd_ssthresh = tp->snd_cwnd;
	}
}

/* Proportional rate reduction with slow start reduction bound, RFC 6937. */
static __always_inline void shrink_to_half(struct tcp_sock *tp, struct flow *flow, __u32 delivered, __u32 lost, int flag)
{
	__u32 flying = in_flight(tp), target = tp->snd_ssthresh, sent = tp->prr_out, allowed = 0;

	if (!delivered || !tp->prior_cwnd)
		return;
	flow->delivered_since += delivered;
	if (flying > target) {
		__u64 share = (__u64)target * flow->delivered_since + tp->prior_cwnd - 1;

		share /= tp->prior_cwnd;
		allowed = share > sent ? share - sent : 0;
	} else {
		allowed = flow->delivered_since > sent ? flow->delivered_since - sent : 0;
		allowed = larger(allowed, delivered);
		if ((flag & FLAG_DATA_ACKED) && !lost)
			allowed++;
		allowed = smaller(allowed, target - flying);
	}
	tp->snd_cwnd = flying + larger(allowed, sent ? 0 : 1); /* the first retransmission goes out at once */
}
