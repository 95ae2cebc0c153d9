// Runs tests against a server and keeps what became of each.
import {launchServer} from './launch.mjs';
import {Context, Skip} from './suite.mjs';

const MAX_TEST_MS = 60_000;
const MAX_SLOW_TEST_MS = 180_000;

/** Runs all tests, `jobs` at a time; those that want to be alone come last. `report` gets each test as it ends. */
export async function runTests(tests, {jobs, ...target}, report) {
	const server = sharedServer(target.serverCmd, target.env);
	const interrupt = () => {
		void server.stop().finally(() => process.exit(130));
	};
	process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
	const run = async test => {
		const context = new Context({...target, url: await server.url()});
		report(Object.assign(test, await outcomeOf(test, context)));
	};
	try {
		const slow = tests.filter(test => test.slow).map(run);
		const queue = tests.filter(test => !test.slow && !test.solo);
		const worker = async () => {
			for (let test = queue.shift(); test; test = queue.shift()) await run(test);
		};
		await Promise.all(Array.from({length: jobs}, worker));
		for (const test of tests) if (!test.slow && test.solo) await run(test);
		await Promise.all(slow);
	} finally {
		await server.stop();
	}
}

/** The server that most tests share; started on first use, and again should a test bring it down. */
function sharedServer(command, env) {
	let running;
	const start = async () => {
		const server = await launchServer(command, env);
		server.child.once('close', () => {
			running = undefined;
		});
		return server;
	};
	return {
		async url() {
			if (!command) return undefined;
			running ??= start();
			return (await running).url;
		},
		async stop() {
			// A server that did not start has been reported where it was awaited.
			const server = await running?.catch(() => undefined);
			await server?.child.stop();
		},
	};
}

async function outcomeOf(test, context) {
	const began = performance.now();
	const finish = (status, error) => ({status, error, ms: Math.round(performance.now() - began)});
	const limit = test.limitMs ?? (test.slow ? MAX_SLOW_TEST_MS : MAX_TEST_MS);
	let timer;
	const expiry = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`expected the test to end within ${limit} ms`)), limit);
	});
	try {
		await Promise.race([test.body(context), expiry]);
		return finish('passed');
	} catch (error) {
		if (error instanceof Skip) return finish('skipped', error.message);
		return finish('failed', error.message.replaceAll('\n', ' '));
	} finally {
		clearTimeout(timer);
		await context.dispose().catch(() => {});
	}
}
