import {loadEnvironments} from '../../../environments/config/load-environments.js';
import {Environment} from '../../../environments/environment.js';
import {LOCAL, openEnvironment} from '../../common/environments.js';
import {type ProbeResult, probeEnvironment} from './probe-environment.js';

/** Longer ones, such as commands, do without a column. */
const MAX_NAME_WIDTH = 24;

type Way = readonly [name: string, open: () => Promise<Environment>];

/** Tries environments, all at once; the exit code is 1 when one cannot be reached. */
export async function testEnvironments(names: readonly string[], {json}: {json: boolean}): Promise<number> {
	const ways = names.length === 0 ? await allKnown() : await Promise.all(names.map(named));
	const examined = await Promise.all(ways.map(([name, open]) => probeEnvironment(name, open)));
	process.stdout.write(json ? `${JSON.stringify(examined, undefined, '\t')}\n` : toLines(examined));
	return examined.every(({reachable}) => reachable) ? 0 : 1;
}

async function allKnown(): Promise<Way[]> {
	const {includesLocal, remotes} = await loadEnvironments();
	const local: Way[] = includesLocal ? [[LOCAL, async () => Environment.local()]] : [];
	return [...local, ...[...remotes].map(([name, target]): Way => [name, async () => Environment.remote(name, target)])];
}

/** A name nobody knows is a mistake of the caller, not of the environment. */
async function named(name: string): Promise<Way> {
	const environment = await openEnvironment(name);
	return [name, async () => environment];
}

function toLines(examined: readonly ProbeResult[]): string {
	const width = Math.min(MAX_NAME_WIDTH, Math.max(...examined.map(({name}) => name.length)));
	const indent = ' '.repeat('FAILED  '.length + width + 2);
	return examined
		.flatMap(each => {
			const name = each.name.padEnd(width);
			if (!each.reachable) return [`FAILED  ${name}  ${each.reason}`];
			const cannot = each.cannot.length === 0 ? [] : [`${indent}cannot ${each.cannot.join(', ')}`];
			return [`ok      ${name}  ${inWords(each)}`, ...cannot];
		})
		.map(line => `${line}\n`)
		.join('');
}

function inWords({
	server,
	version,
	protocol,
	os,
	arch,
	shell,
	roundTripMs,
}: Extract<ProbeResult, {reachable: true}>): string {
	const who = [server, version].filter(Boolean).join(' ');
	const system = [os, arch].filter(Boolean).join(' ');
	const parts = [protocol === 'current' ? who : `${who} (protocol ${protocol})`, system, shell, `${roundTripMs} ms`];
	return parts.filter(Boolean).join(', ');
}
