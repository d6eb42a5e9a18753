#include "direction.h"

#include <stdlib.h>

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct transit *at(const struct direction *direction, uint64_t index) {
    return &direction->ring[index % POOL_SLOTS]; // no more packets than slots are ever in transit
}

// Uniform in [0, 1): xorshift64*, Vigna 2016. The seed makes a run's losses repeat as far as its packets do.
static double draw(struct direction *direction) {
    uint64_t x = direction->random_state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    direction->random_state = x;
    return (double)((x * 2685821657736338717ULL) >> 11) * 0x1.0p-53;
}

bool direction_open(struct direction *direction, struct packet_pool *pool, uint64_t seed) {
    // Small seeds have few bits set, which this generator needs many draws to spread; 2^64 / golden ratio spreads them.
    *direction = (struct direction){.pool = pool, .random_state = (seed + 1) * 0x9E3779B97F4A7C15ULL};
    direction->ring = calloc(POOL_SLOTS, sizeof *direction->ring);
    return direction->ring != NULL;
}

void direction_arrive(struct direction *direction, uint32_t slot, uint32_t length, uint64_t now_ns) {
    const struct settings *settings = &direction->settings;
    if (settings->loss > 0 && draw(direction) < settings->loss) {
        direction->counters.lost++;
        pool_give(direction->pool, slot);
        return;
    }
    if (direction->queued_bytes + length > settings->queue_limit_bytes) {
        direction->counters.dropped++;
        pool_give(direction->pool, slot);
        return;
    }
    *at(direction, direction->arrived++) = (struct transit){.arrived_ns = now_ns, .slot = slot, .length = length};
    direction->queued_bytes += length;
    direction->counters.queued_peak_bytes = later(direction->counters.queued_peak_bytes, direction->queued_bytes);
}

// The rate is looked up for each packet as it is serialised, so that a change holds for what waits in the queue too.
static uint64_t serialised_at_ns(const struct direction *direction, const struct transit *packet) {
    uint64_t start_ns = later(direction->free_at_ns, packet->arrived_ns);
    return start_ns + (uint64_t)(packet->length * 8e9 / direction->settings.rate_bps);
}

static unsigned lateness_bucket(uint64_t due_ns, uint64_t now_ns) {
    uint64_t late_us = now_ns > due_ns ? (now_ns - due_ns) / 1000 : 0;
    if (late_us < 4)
        return (unsigned)late_us;
    unsigned octave = 63u - (unsigned)__builtin_clzll(late_us);
    unsigned bucket = 4 * (octave - 1) + (unsigned)(late_us >> (octave - 2) & 3);
    return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

static void serialise(struct direction *direction, uint64_t now_ns) {
    while (direction->serialised != direction->arrived) {
        struct transit *packet = at(direction, direction->serialised);
        uint64_t done_ns = serialised_at_ns(direction, packet);
        if (done_ns > now_ns)
            return;
        direction->free_at_ns = done_ns;
        direction->queued_bytes -= packet->length;
        // Packets never overtake one another: after the delay became shorter, those behind wait for those ahead.
        packet->due_ns = later(done_ns + direction->settings.delay_ns, direction->last_due_ns);
        direction->last_due_ns = packet->due_ns;
        direction->serialised++;
    }
}

unsigned direction_advance(struct direction *direction, uint64_t until_ns, uint64_t now_ns, deliver_fn deliver,
                           void *context) {
    unsigned count = 0;
    serialise(direction, until_ns);
    for (; direction->delivered != direction->serialised; direction->delivered++, count++) {
        const struct transit *packet = at(direction, direction->delivered);
        if (packet->due_ns > until_ns)
            break;
        direction->counters.late[lateness_bucket(packet->due_ns, now_ns)]++;
        if (deliver(context, pool_slot(direction->pool, packet->slot), packet->length)) {
            direction->counters.forwarded++;
            direction->counters.bytes += packet->length;
        } else {
            direction->counters.refused++;
        }
        pool_give(direction->pool, packet->slot);
    }
    return count;
}

uint64_t direction_next_ns(const struct direction *direction) {
    uint64_t next_ns = UINT64_MAX;
    if (direction->delivered != direction->serialised)
        next_ns = at(direction, direction->delivered)->due_ns;
    if (direction->serialised != direction->arrived) {
        uint64_t done_ns = serialised_at_ns(direction, at(direction, direction->serialised));
        if (done_ns < next_ns)
            next_ns = done_ns;
    }
    return next_ns;
}
