// Room for the packets in transit, allocated once: last in, first out, so that a path which holds few packets keeps
// using the same few slots and stays in the processor's cache.
#ifndef TRADEWIND_PACKET_POOL_H
#define TRADEWIND_PACKET_POOL_H

#include <stdbool.h>
#include <stdint.h>

// 2^17 packets of 1,500 bytes are 1 Gbit/s × 1.5 s. Untouched slots take no memory.
#define POOL_SLOTS (1u << 17)
#define SLOT_BYTES 1536u // an MTU of 1,500 and round
#define NO_SLOT UINT32_MAX

struct packet_pool {
    unsigned char *bytes;
    uint32_t *spare; // a stack of free slots
    uint32_t spare_count;
};

bool pool_open(struct packet_pool *pool);
uint32_t pool_take(struct packet_pool *pool); // NO_SLOT when all are in use
void pool_give(struct packet_pool *pool, uint32_t slot);
unsigned char *pool_slot(const struct packet_pool *pool, uint32_t slot);

#endif
