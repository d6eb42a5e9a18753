// One direction of the emulated path: random loss, a drop-tail queue, a serialiser, and the delay of propagation.
//
//   arrive ──loss──▶ [queue, at most queue_limit_bytes] ──rate──▶ [delay line] ──▶ deliver
//
// All packets of a direction share one queue, whichever client they belong to: that is the bottleneck. The clock is an
// argument, so that nothing here depends on when or how often it is called.
#ifndef TRADEWIND_DIRECTION_H
#define TRADEWIND_DIRECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet_pool.h"

struct settings {
    double rate_bps;
    uint64_t delay_ns;
    double loss; // probability that a packet is lost, before the queue
    uint64_t queue_limit_bytes;
};

// How late packets left against their due time, counted in four buckets an octave of whole microseconds: bucket i < 4 is
// of i µs, bucket i ≥ 4 begins at (4 + i % 4) << (i / 4 - 1) µs.
#define LATENESS_BUCKETS 96

struct counters {
    uint64_t forwarded;    // packets handed to the other end
    uint64_t bytes;        // their bytes, IP headers included
    uint64_t dropped;      // found the queue full
    uint64_t lost;         // taken by random loss
    uint64_t refused;      // no memory for it here, or the other end's device did not take it: the emulation's own fault
    uint64_t queued_peak_bytes; // since the counters were last read
    uint64_t late[LATENESS_BUCKETS]; // packets by how late they left
};

struct transit {
    uint64_t arrived_ns;
    uint64_t due_ns; // when it leaves the delay line; known once it has been serialised
    uint32_t slot;
    uint32_t length;
};

struct direction {
    struct settings settings;
    struct counters counters;
    struct packet_pool *pool;
    struct transit *ring; // [delivered, serialised) is in the delay line, [serialised, arrived) in the queue
    uint64_t delivered, serialised, arrived;
    uint64_t free_at_ns; // when the serialiser is done with its last packet
    uint64_t last_due_ns;
    uint64_t queued_bytes;
    uint64_t random_state;
};

// Returns whether the other end took the packet.
typedef bool (*deliver_fn)(void *context, const unsigned char *packet, uint32_t length);

bool direction_open(struct direction *direction, struct packet_pool *pool, uint64_t seed);
// Takes a packet that lies in a slot of the pool; the slot belongs to the direction from here on.
void direction_arrive(struct direction *direction, uint32_t slot, uint32_t length, uint64_t now_ns);
// Serialises and delivers what is due until then, at `now_ns`; returns how many packets left.
unsigned direction_advance(struct direction *direction, uint64_t until_ns, uint64_t now_ns, deliver_fn deliver,
                           void *context);
// When something will be due next; UINT64_MAX when the direction is empty.
uint64_t direction_next_ns(const struct direction *direction);

#endif
