// The control socket: one command a message, one line of answer.
//
//   set down|up RATE_BPS DELAY_NS LOSS QUEUE_BYTES    change a direction, from the next packet on
//   counters                                          what both directions have carried, and their queues
#ifndef TRADEWIND_CONTROL_H
#define TRADEWIND_CONTROL_H

#include <poll.h>
#include <stddef.h>
#include <stdio.h>

#include "direction.h"

enum { DOWN, UP, DIRECTIONS }; // from the server to the clients, and back

#define CONTROL_PEERS 8 // programs that may hold the socket open at once
#define CONTROL_FDS (1 + CONTROL_PEERS)
// Of a line of counters at most, every bucket of lateness in use.
#define COUNTERS_BYTES 8192

struct control {
    int listener;
    int peers[CONTROL_PEERS]; // −1 where free
};

// Listens at `path`; false after a message on stderr.
bool control_open(struct control *control, const char *path);
// Fills CONTROL_FDS entries to poll; serves those that poll found ready.
void control_watch(const struct control *control, struct pollfd *watched);
void control_serve(struct control *control, const struct pollfd *watched, struct direction *directions);
// One line of `key=value` for each direction, lateness as `late=BUCKET:PACKETS,…`; returns its length.
int counters_print(struct direction *directions, char *text, size_t size);

#endif
