// TCP connections between ranks of several machines, for their supervision.
#ifndef CGRAPH_RUNTIME_CLUSTER_SOCKETS_H_
#define CGRAPH_RUNTIME_CLUSTER_SOCKETS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cgraph::cluster {

// Has the system find within 5 s that the other end's machine cannot be reached.
void KeepAlive(int socket);
// Returns this machine's addresses, "10.0.0.1 192.168.0.7 127.0.0.1".
std::string Addresses();
// Returns a socket that is connected to the address, with KeepAlive(); -1: it cannot be in time.
int ConnectTo(const std::string& address, uint16_t port);
// Sends a short text, or nothing where the other end is gone.
void Write(int socket, std::string_view text);

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SOCKETS_H_
