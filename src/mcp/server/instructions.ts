import {waitAtMost} from '../../shared/async/timeout.js';
import {headerField} from './answers/header-line.js';
import {describeLimits} from './machines/machine-limits.js';
import type {MachineSet} from './machines/machine-set.js';
import type {NamedMachine} from './machines/named-machine.js';

/** Longest text: clients cut it at 2,048 characters. */
export const MAX_INSTRUCTIONS_CHARACTERS = 2000;
/** Time that a client waits for machines that have not told about themselves yet. */
const FACTS_MS = 250;

const RULES = [
	'Run commands on these machines. A command that is still running after wait_s goes on, and the answer has its id (p7): call wait with it.',
	'Never poll and never sleep: wait returns as soon as the process exits, prints a text, opens a port, asks for input or is silent.',
	'Processes belong to their machine: they outlive this connection, ps lists them. Every command begins in cwd: cd and export do not last. Paths are MACHINE:PATH. Left out output: logs. For interactive programs: exec with tty, then send and screen.',
];

/** Text about the machines and how to wait, for models. */
export async function describeForModels({all, default: first}: MachineSet): Promise<string> {
	await waitAtMost(Promise.allSettled(all.map(machine => machine.facts())), FACTS_MS);
	const lines = [
		...RULES,
		all.length === 1 ? 'Machine:' : `Machines (${headerField(first.name)} if \`on\` is left out):`,
	];
	let size = lines.join('\n').length;
	for (const [at, machine] of all.entries()) {
		const line = describeMachine(machine);
		const rest = `… ${all.length - at} more: ps`;
		if (size + line.length + rest.length + 2 > MAX_INSTRUCTIONS_CHARACTERS) return [...lines, rest].join('\n');
		lines.push(line);
		size += line.length + 1;
	}
	return lines.join('\n');
}

function describeMachine({name, knownFacts, labels, limits}: NamedMachine): string {
	const told = knownFacts ? [knownFacts.os ?? '', knownFacts.shell.name, knownFacts.cwd] : ['not reached yet'];
	const limited = describeLimits(limits);
	if (limited !== undefined) told.push(limited);
	if (knownFacts && !knownFacts.keepsProcesses) told.push('its processes are of this connection only');
	const marks = Object.entries(labels).map(pair => `@${pair.join('=')}`);
	return `- ${headerField(name)}: ${[...told, ...marks].filter(Boolean).map(headerField).join(', ')}`;
}
