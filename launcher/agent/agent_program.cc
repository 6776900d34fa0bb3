// The agent alone, for its test.
#include "launcher/agent/agent.h"

int main() { return slipway::launcher::RunAgent(0, 1); }
