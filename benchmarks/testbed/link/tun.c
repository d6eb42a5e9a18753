#define _GNU_SOURCE
#include "tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int complain(const char *what, const char *which) {
    fprintf(stderr, "link: %s %s: %s\n", what, which, strerror(errno));
    return -1;
}

static int enter(const char *namespace_path) {
    int descriptor = open(namespace_path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return complain("cannot open", namespace_path);
    int entered = setns(descriptor, CLONE_NEWNET);
    close(descriptor);
    return entered ? complain("cannot enter", namespace_path) : 0;
}

int tun_open(const char *namespace_path, const char *name) {
    if (enter(namespace_path))
        return -1;
    int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return complain("cannot open", "/dev/net/tun");
    // Without IFF_VNET_HDR the kernel segments for us: every read is one packet of at most the MTU, as on a wire, so
    // that loss and queue count packets and not the bundles of segmentation offload.
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(descriptor, TUNSETIFF, &request)) {
        complain("cannot make device", name);
        close(descriptor);
        return -1;
    }
    return descriptor;
}
