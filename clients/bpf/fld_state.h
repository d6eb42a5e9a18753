// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What FLD_TCP remembers of a connection, and what it asks the kernel of it; a part of fld_tcp.bpf.c, which includes it
 * once its parameters are declared. Units as there.
 */
#pragma once

#define NOT_RESTRICTED 1        /* TCP_CONG_NON_RESTRICTED: a process needs no privilege to choose it */
#define FLAG_DATA_ACKED 0x04    /* of tcp_input.c: the acknowledgement covers new data */
#define FLAG_ECE 0x40           /* it carries an echo of a congestion mark */
#define WAITS_TO_WRITE (1 << 2) /* SOCK_NOSPACE of linux/net.h, of a socket */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define UNKNOWN 0xffffffffU
#define LEAST_WINDOW 2U
#define USUAL_INITIAL_WINDOW 10U /* RFC 6928 */
#define RENO_GROWTH 2U          /* of slow start */
#define LEAST_TRAIN 4U          /* segments of a round whose spacing tells a rate */
#define LEAST_DELAY 4000U       /* microseconds that are a queue: an eighth of the round trip, within these (RFC 9406) */
#define MOST_DELAY 16000U
#define LATE_SEGMENTS 8U        /* in a row that are no chance; RFC 9406 wants as many of a round before it judges */
#define MOST_LATE_AT_ONCE (LATE_SEGMENTS / 2) /* by one acknowledgement of many, so that it takes two */
#define PACING_PERCENT 120U     /* of the window in a round trip; as net.ipv4.tcp_pacing_ca_ratio */
#define MICROSECONDS 1000000ULL

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;

#define larger(a, b) ((a) > (b) ? (a) : (b))
#define smaller(a, b) ((a) < (b) ? (a) : (b))

enum reduction { RELENTLESS, RENO };

/* What a connection remembers, in the room that the kernel gives each (icsk_ca_priv, 104 bytes). */
struct flow {
	__u64 first_byte;        /* acknowledged bytes of the connection when the flow began */
	__u32 lost_before;       /* tp->lost as last looked at */
	__u32 delivered_since;   /* in this recovery: prr_delivered of RFC 6937 */
	__u32 round_end;         /* sequence number whose acknowledgement begins the next round */
	__u32 round_rtt;         /* least of this round */
	__u32 round_acked;       /* segments after the first acknowledgement of this round */
	__u32 round_held;        /* for which the window did not grow, because of a queue */
	__u64 round_began, round_last; /* times of its first and latest acknowledgement */
	__u32 round_sent;        /* time in which the application let out a first flight, if this round is one */
	__u32 pipe;              /* segments that fill the path, at most by any round; 0 while unknown */
	__u32 late_segments;     /* in a row that met a queue */
	__u32 window_before;     /* the reduction under way */
	__u8 reduction;          /* of the recovery under way */
	__u8 timed_out;          /* in this flow */
	__u8 timed_out_before;   /* the timeout under way, which may turn out to be none */
};

static __always_inline struct tcp_sock *tcp_of(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct flow *flow_of(const struct sock *sk)
{
	return (struct flow *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u8 state_of(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

static __always_inline bool is_short(const struct tcp_sock *tp, const struct flow *flow)
{
	return tp->bytes_acked - flow->first_byte < parameters.threshold_bytes;
}

/* The path may carry what it did not before, and the time that nothing was sent in is no spacing of it. */
static __always_inline void forget_path(struct flow *flow)
{
	flow->round_began = 0;
	flow->pipe = 0;
	flow->late_segments = 0;
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static __always_inline __u32 half(const struct tcp_sock *tp)
{
	return larger(tp->snd_cwnd / 2, LEAST_WINDOW);
}

static __always_inline __u32 growth(const struct tcp_sock *tp, const struct flow *flow)
{
	bool has_room = !flow->pipe || tp->snd_cwnd < flow->pipe;

	return is_short(tp, flow) && has_room && !flow->timed_out ? parameters.growth_factor : RENO_GROWTH;
}
