import {median, percentile} from '../../lib/stats.mjs';
import {delay} from '../../lib/waiting.mjs';
import {lower} from './values.mjs';

/** Memory and processor time are read this long after the first reply. */
const SETTLE_MS = 150;

export async function startup(prototype, sizes) {
	const ready = [];
	const rss = [];
	const tree = [];
	const cpu = [];
	for (let count = 0; count < sizes.startups; count++) {
		const server = prototype.sibling();
		try {
			await server.start();
			await server.connect();
			ready.push(performance.now() - server.startedAt);
			await delay(SETTLE_MS);
			rss.push(server.rssMain());
			tree.push(server.rssTree());
			cpu.push(server.cpuTree() * 1000);
		} finally {
			await server.stop();
		}
	}
	return {
		ready_p50: lower(percentile(ready, 50), 'ms'),
		ready_max: lower(Math.max(...ready), 'ms'),
		rss: lower(median(rss), 'MiB'),
		rss_tree: lower(median(tree), 'MiB'),
		cpu: lower(median(cpu), 'ms'),
	};
}
