// An emulated wide-area path between one server and several clients, each in a network namespace of its own.
//
// usage: link CONTROL_SOCKET SEED DEVICE SERVER_NAMESPACE CLIENT_NAMESPACE=ADDRESS...
//
// It makes a TUN device in each namespace and carries IPv4 packets between them: from any client to the server, and from
// the server to the client that has the destination's address. Namespaces are paths, such as /run/netns/NAME. Nothing
// passes before both directions have been set through the control socket (control.h). "ready" is printed once it
// listens. It ends on SIGTERM, SIGINT or at the end of its standard input, which is how it outlives no owner, and then
// prints its counters on stderr, as it does on SIGUSR1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "tun.h"

#define MOST_CLIENTS 16
#define SECOND_NS 1000000000ULL
// After a round that moved packets it pauses this long, so that the next round finds a batch of them: a wake-up costs
// more than a packet. Packets read after a pause came half of it ago on average, and what falls due until the middle of
// the next one is delivered before it: so a pause spreads the packets' timing, but leaves its mean as it should be.
#define GRAIN_NS 250000ULL
// Longest sleep, so that a signal which arrived just before it is not overlooked for long.
#define IDLE_NS (SECOND_NS / 5)
#define BATCH 256 // packets read from one device before the others have their turn

struct client {
    int tun;
    in_addr_t address;
};

struct link {
    struct packet_pool pool;
    struct direction directions[DIRECTIONS];
    struct control control;
    int server;
    struct client clients[MOST_CLIENTS];
    int client_count;
};

static volatile sig_atomic_t stopped, asked;

static void on_signal(int number) {
    if (number == SIGUSR1)
        asked = 1;
    else
        stopped = 1;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static bool to_server(void *context, const unsigned char *packet, uint32_t length) {
    const struct link *link = context;
    return write(link->server, packet, length) == (ssize_t)length;
}

static bool to_client(void *context, const unsigned char *packet, uint32_t length) {
    const struct link *link = context;
    in_addr_t destination;
    memcpy(&destination, packet + 16, sizeof destination); // RFC 791: the fifth word of the header
    for (int i = 0; i < link->client_count; i++)
        if (link->clients[i].address == destination)
            return write(link->clients[i].tun, packet, length) == (ssize_t)length;
    return false;
}

static bool is_ipv4(const unsigned char *packet, ssize_t length) { return length >= 20 && packet[0] >> 4 == 4; }

// Reads what waits at a device; returns how many packets.
static unsigned take_in(struct link *link, int tun, struct direction *direction, uint64_t arrived_ns) {
    unsigned count = 0;
    for (; count < BATCH; count++) {
        uint32_t slot = pool_take(&link->pool);
        if (slot == NO_SLOT) {
            direction->counters.refused++;
            break;
        }
        unsigned char *packet = pool_slot(&link->pool, slot);
        ssize_t length = read(tun, packet, SLOT_BYTES);
        if (length <= 0) {
            pool_give(&link->pool, slot);
            break;
        }
        if (is_ipv4(packet, length) && direction->settings.rate_bps > 0)
            direction_arrive(direction, slot, (uint32_t)length, arrived_ns);
        else
            pool_give(&link->pool, slot);
    }
    return count;
}

static unsigned take_in_all(struct link *link, const struct pollfd *tuns, uint64_t arrived_ns) {
    unsigned count = 0;
    if (tuns[0].revents)
        count += take_in(link, link->server, &link->directions[DOWN], arrived_ns);
    for (int i = 0; i < link->client_count; i++)
        if (tuns[1 + i].revents)
            count += take_in(link, link->clients[i].tun, &link->directions[UP], arrived_ns);
    return count;
}

static unsigned advance(struct link *link, uint64_t half_pause_ns) {
    uint64_t now = now_ns(), until = now + half_pause_ns;
    return direction_advance(&link->directions[DOWN], until, now, to_client, link) +
           direction_advance(&link->directions[UP], until, now, to_server, link);
}

static struct timespec until_next(const struct link *link) {
    uint64_t now = now_ns(), next = now + IDLE_NS;
    for (int i = 0; i < DIRECTIONS; i++) {
        uint64_t due = direction_next_ns(&link->directions[i]);
        if (due < next)
            next = due;
    }
    return (struct timespec){.tv_nsec = next > now ? (long)(next - now) : 0};
}

static void tell_counters(struct link *link) {
    char line[COUNTERS_BYTES];
    counters_print(link->directions, line, sizeof line);
    fprintf(stderr, "link: %s\n", line);
}

static void run(struct link *link) {
    const struct timespec grain = {.tv_nsec = GRAIN_NS};
    uint64_t half_pause_ns = 0; // of the pause before this round
    struct pollfd watched[2 + MOST_CLIENTS + CONTROL_FDS];
    struct pollfd *tuns = watched, *controls = watched + 1 + link->client_count;
    struct pollfd *input = controls + CONTROL_FDS;
    tuns[0] = (struct pollfd){.fd = link->server, .events = POLLIN};
    for (int i = 0; i < link->client_count; i++)
        tuns[1 + i] = (struct pollfd){.fd = link->clients[i].tun, .events = POLLIN};
    *input = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    while (!stopped) {
        struct timespec patience = until_next(link);
        control_watch(&link->control, controls);
        int ready = ppoll(watched, (nfds_t)(input - watched) + 1, &patience, NULL);
        unsigned moved = 0;
        if (ready > 0) {
            moved += take_in_all(link, tuns, now_ns() - half_pause_ns);
            control_serve(&link->control, controls, link->directions);
            if (input->revents)
                stopped = 1; // the owner is gone: nothing is ever written there
        }
        moved += advance(link, half_pause_ns);
        if (asked) {
            asked = 0;
            tell_counters(link);
        }
        if (moved)
            nanosleep(&grain, NULL);
        half_pause_ns = moved ? GRAIN_NS / 2 : 0;
    }
}

static bool open_client(struct link *link, char *argument, const char *device) {
    char *separator = strrchr(argument, '=');
    struct client *client = &link->clients[link->client_count];
    if (link->client_count == MOST_CLIENTS || separator == NULL ||
        inet_pton(AF_INET, separator + 1, &client->address) != 1) {
        fprintf(stderr, "link: at most %d clients, each as NAMESPACE=ADDRESS, got %s\n", MOST_CLIENTS, argument);
        return false;
    }
    *separator = '\0';
    client->tun = tun_open(argument, device);
    link->client_count++;
    return client->tun >= 0;
}

static bool open_link(struct link *link, char **arguments, int count) {
    uint64_t seed = strtoull(arguments[1], NULL, 10);
    const char *device = arguments[2];
    if (!pool_open(&link->pool) || !direction_open(&link->directions[DOWN], &link->pool, 2 * seed + 1) ||
        !direction_open(&link->directions[UP], &link->pool, 2 * seed + 2)) {
        fprintf(stderr, "link: no memory\n");
        return false;
    }
    for (int i = 4; i < count; i++)
        if (!open_client(link, arguments[i], device))
            return false;
    // The server comes last: this process stays in its namespace, where whoever looks for leftovers will find it.
    link->server = tun_open(arguments[3], device);
    return link->server >= 0 && control_open(&link->control, arguments[0]);
}

int main(int count, char **arguments) {
    static struct link link;
    struct sigaction action = {.sa_handler = on_signal};
    if (count < 6) {
        fprintf(stderr, "usage: link CONTROL_SOCKET SEED DEVICE SERVER_NAMESPACE CLIENT_NAMESPACE=ADDRESS...\n");
        return 2;
    }
    if (!open_link(&link, arguments + 1, count - 1))
        return 1;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // the default of 50 µs would show in every packet's timing
    puts("ready");
    fflush(stdout);
    run(&link);
    tell_counters(&link);
    return 0;
}
