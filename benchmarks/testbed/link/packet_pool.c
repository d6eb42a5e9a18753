#include "packet_pool.h"

#include <stdlib.h>

bool pool_open(struct packet_pool *pool) {
    pool->bytes = malloc((size_t)POOL_SLOTS * SLOT_BYTES);
    pool->spare = malloc(POOL_SLOTS * sizeof *pool->spare);
    if (pool->bytes == NULL || pool->spare == NULL)
        return false;
    for (uint32_t slot = 0; slot < POOL_SLOTS; slot++)
        pool->spare[slot] = POOL_SLOTS - 1 - slot; // low slots on top
    pool->spare_count = POOL_SLOTS;
    return true;
}

uint32_t pool_take(struct packet_pool *pool) {
    return pool->spare_count ? pool->spare[--pool->spare_count] : NO_SLOT;
}

void pool_give(struct packet_pool *pool, uint32_t slot) { pool->spare[pool->spare_count++] = slot; }

unsigned char *pool_slot(const struct packet_pool *pool, uint32_t slot) {
    return pool->bytes + (size_t)slot * SLOT_BYTES;
}
