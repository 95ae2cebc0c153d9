import type {ExecServer} from '../../../server/server.js';

/** Looks at the server during the idle time; more would not make the end more exact. */
const LOOKS = 10;
/** Shortest time between two looks. */
const MIN_LOOK_INTERVAL_MS = 50;

/** Settles with the reason when the server has had no client and no process for this time. */
export function whenIdleFor(server: Pick<ExecServer, 'isIdle'>, idleMs: number): Promise<string> {
	return new Promise(resolve => {
		let idleSince: number | undefined;
		const timer = setInterval(
			() => {
				const now = performance.now();
				idleSince = server.isIdle ? (idleSince ?? now) : undefined;
				if (idleSince === undefined || now - idleSince < idleMs) return;
				clearInterval(timer);
				resolve('idle');
			},
			Math.max(MIN_LOOK_INTERVAL_MS, idleMs / LOOKS),
		);
	});
}
