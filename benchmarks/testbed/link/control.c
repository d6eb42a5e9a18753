#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_BYTES 1024

static const char *const NAMES[DIRECTIONS] = {"down", "up"};

bool control_open(struct control *control, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    for (int i = 0; i < CONTROL_PEERS; i++)
        control->peers[i] = -1;
    if (strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "link: too long for a socket's path: %s\n", path);
        return false;
    }
    strcpy(address.sun_path, path);
    // Messages with borders, so that a command is one receive and nothing has to be put together.
    control->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (control->listener < 0 || bind(control->listener, (struct sockaddr *)&address, sizeof address) ||
        listen(control->listener, CONTROL_PEERS)) {
        fprintf(stderr, "link: cannot listen at %s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

void control_watch(const struct control *control, struct pollfd *watched) {
    watched[0] = (struct pollfd){.fd = control->listener, .events = POLLIN};
    for (int i = 0; i < CONTROL_PEERS; i++)
        watched[1 + i] = (struct pollfd){.fd = control->peers[i], .events = POLLIN};
}

static int lateness_print(const struct counters *counted, char *text, size_t size) {
    int length = snprintf(text, size, " late=");
    for (int i = 0; i < LATENESS_BUCKETS; i++)
        if (counted->late[i])
            length += snprintf(text + length, size - (size_t)length, "%d:%" PRIu64 ",", i, counted->late[i]);
    return length;
}

int counters_print(struct direction *directions, char *text, size_t size) {
    int length = 0;
    for (int i = 0; i < DIRECTIONS; i++) {
        struct direction *direction = &directions[i];
        struct counters *counted = &direction->counters;
        length += snprintf(text + length, size - (size_t)length,
                           "%s%s forwarded=%" PRIu64 " bytes=%" PRIu64 " dropped=%" PRIu64 " lost=%" PRIu64
                           " refused=%" PRIu64 " queued_bytes=%" PRIu64 " queued_peak_bytes=%" PRIu64,
                           i ? " " : "", NAMES[i], counted->forwarded, counted->bytes, counted->dropped, counted->lost,
                           counted->refused, direction->queued_bytes, counted->queued_peak_bytes);
        length += lateness_print(counted, text + length, size - (size_t)length);
    }
    return length;
}

static int set(struct direction *directions, const char *command, char *answer) {
    char name[8];
    double rate_bps, loss;
    uint64_t delay_ns, queue_bytes;
    if (sscanf(command, "set %7s %lf %" SCNu64 " %lf %" SCNu64, name, &rate_bps, &delay_ns, &loss, &queue_bytes) != 5)
        return snprintf(answer, MESSAGE_BYTES, "error: set down|up RATE_BPS DELAY_NS LOSS QUEUE_BYTES");
    if (!(rate_bps > 0) || !(loss >= 0 && loss < 1))
        return snprintf(answer, MESSAGE_BYTES, "error: rate must be above 0, loss within [0, 1)");
    for (int i = 0; i < DIRECTIONS; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            directions[i].settings = (struct settings){rate_bps, delay_ns, loss, queue_bytes};
            return snprintf(answer, MESSAGE_BYTES, "ok");
        }
    }
    return snprintf(answer, MESSAGE_BYTES, "error: no direction %s", name);
}

static int answer_to(struct direction *directions, const char *command, char *answer) {
    if (strncmp(command, "set ", 4) == 0)
        return set(directions, command, answer);
    if (strcmp(command, "counters") == 0) {
        int length = counters_print(directions, answer, COUNTERS_BYTES);
        for (int i = 0; i < DIRECTIONS; i++)
            directions[i].counters.queued_peak_bytes = directions[i].queued_bytes;
        return length;
    }
    return snprintf(answer, MESSAGE_BYTES, "error: unknown command");
}

static void welcome(struct control *control) {
    int peer = accept4(control->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    for (int i = 0; peer >= 0 && i < CONTROL_PEERS; i++) {
        if (control->peers[i] < 0) {
            control->peers[i] = peer;
            return;
        }
    }
    if (peer >= 0)
        close(peer);
}

void control_serve(struct control *control, const struct pollfd *watched, struct direction *directions) {
    for (int i = 0; i < CONTROL_PEERS; i++) {
        char command[MESSAGE_BYTES], answer[COUNTERS_BYTES];
        if (!watched[1 + i].revents)
            continue;
        ssize_t received = recv(control->peers[i], command, sizeof command - 1, 0);
        if (received <= 0) { // closed by the peer
            close(control->peers[i]);
            control->peers[i] = -1;
            continue;
        }
        command[received] = '\0';
        int length = answer_to(directions, command, answer);
        send(control->peers[i], answer, (size_t)length, MSG_NOSIGNAL);
    }
    if (watched[0].revents)
        welcome(control);
}
