import {failUsage} from './options.mjs';
import {startServer} from './server.mjs';
import {finish} from './tables.mjs';

/**
 * Runs the scenarios that the arguments of the program name, all without arguments, each with a server of its own, and
 * ends the program with the table of their results. A scenario resolves with its `[what, value, kept]` rows, or with rows
 * that have their own scenario in front.
 */
export async function runScenarios(about, scenarios, {settings} = {}) {
	const known = Object.keys(scenarios);
	const named = process.argv.slice(2);
	if (named.includes('--help') || named.includes('-h')) {
		process.stdout.write(`${about}\n\n  [${known.join('] [')}]   scenarios to run, all by default\n`);
		process.exit(0);
	}
	const chosen = named.length > 0 ? named : known;
	const unknown = chosen.find(name => !known.includes(name));
	if (unknown !== undefined) failUsage(`unknown scenario ${unknown}; known are ${known.join(', ')}`);
	const rows = [];
	for (const name of chosen) {
		const server = await startServer({settings});
		const began = performance.now();
		try {
			for (const row of await scenarios[name](server)) rows.push(row.length === 3 ? [name, ...row] : row);
		} finally {
			await server.stop();
		}
		rows.push([name, 'seconds', ((performance.now() - began) / 1000).toFixed(1), true]);
	}
	finish(rows);
}
