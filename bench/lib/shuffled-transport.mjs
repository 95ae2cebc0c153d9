/** Notifications that may overtake one another at a time. */
const WINDOW = 4;
/** The last ones have nobody to wait for. */
const MAX_WAIT_MS = 20;

/** A transport that tells of processes in another order than it was told; what it holds is lost with the line. */
export function shuffled(transport, random) {
	const held = [];
	let timer;
	let counts = 0;
	const release = () => {
		clearTimeout(timer);
		timer = undefined;
		for (let left = held.splice(0); left.length > 0; ) left.splice(random.size(0, left.length - 1), 1)[0]();
	};
	return {
		kind: transport.kind,
		peer: transport.peer,
		get backlog() {
			return transport.backlog;
		},
		/** How many notifications were held back. */
		get held() {
			return counts;
		},
		open: events =>
			transport.open({
				...events,
				message: (text, bulk) => {
					const tell = () => events.message(text, bulk);
					if (!text.includes('"method":"process/')) return tell();
					counts++;
					held.push(tell);
					timer ??= setTimeout(release, MAX_WAIT_MS);
					if (held.length >= WINDOW) release();
				},
				closed: error => {
					clearTimeout(timer);
					held.length = 0;
					events.closed(error);
				},
			}),
		send: frame => transport.send(frame),
		pause: () => transport.pause(),
		resume: () => transport.resume(),
		close: () => transport.close(),
		destroy: () => transport.destroy(),
	};
}
