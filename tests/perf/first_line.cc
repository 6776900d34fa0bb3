// A program that says that it has started, for the benchmark of launches.
#include <unistd.h>

int main() { return write(STDOUT_FILENO, "ready\n", 6) == 6 ? 0 : 1; }
