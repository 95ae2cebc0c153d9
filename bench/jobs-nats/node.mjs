// A node of the benchmark: runs the jobs in JetStream with a worker that does nothing but wait.
// node bench/jobs-nats/node.mjs SERVERS SLOTS WORK_MS
import {openNatsLink} from '../../dist/hub/nats/nats-link.js';
import {JetStreamJobs} from '../../dist/jobs/nats/jet-stream-jobs.js';

const [servers, slots, workMs] = process.argv.slice(2);
const logger = {debug() {}, info: log, warn: log, error: log};
const environment = {kind: 'local', server: async () => ({}), close: async () => {}};

function log(text, fields) {
	process.stderr.write(`${process.pid} ${text} ${JSON.stringify(fields ?? {})}\n`);
}

async function openWork() {
	return {
		executors: [{name: 'none', slots: Number(slots), environment}],
		worker: {
			async run(attempt) {
				await new Promise(resolve => setTimeout(resolve, Number(workMs) * (0.5 + Math.random())));
				const {accepted} = await attempt.report({row: attempt.rowIndex});
				return accepted ? {kind: 'reported'} : {kind: 'unreported'};
			},
		},
		dispose: async () => {},
	};
}

const nats = await openNatsLink({servers: servers.split(','), name: `node-${process.pid}`, logger});
await JetStreamJobs.open({nats, openWork, directory: '/nonexistent', logger, sweepMs: 10_000});
process.stdout.write('ready\n');
