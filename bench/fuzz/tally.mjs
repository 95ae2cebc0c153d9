/** What was done so far, over all connections. */
export const totals = {messages: 0, probes: 0, episodes: 0, connections: 0, starts: 0, sentBytes: 0, receivedBytes: 0};

/** How often each kind of input was sent, and how often it came to what. */
export const kinds = new Map();
export const outcomes = new Map();

export function count(map, what) {
	map.set(what, (map.get(what) ?? 0) + 1);
}
