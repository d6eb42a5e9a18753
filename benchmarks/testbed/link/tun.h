// TUN devices: the ends of the emulated path, as network interfaces inside namespaces.
#ifndef TRADEWIND_TUN_H
#define TRADEWIND_TUN_H

// Makes device `name` in the network namespace bound to `namespace_path`; this process stays in that namespace.
// Returns a non-blocking descriptor that reads and writes one IP packet at a time, or −1 after a message on stderr.
// The device is gone when the descriptor is closed.
int tun_open(const char *namespace_path, const char *name);

#endif
