import {describeOutcome, isFailure, isSuccess, type MachineOutcome} from './machine-outcome.js';
import type {MachineResult} from './run-on-each.js';

/** Machines on which a command had the same outcome and wrote the same output. */
export interface OutcomeGroup {
	/** In the order given; not empty. Messages of lost machines may differ. */
	readonly results: readonly [MachineResult, ...MachineResult[]];
	readonly outcome: MachineOutcome;
}

/** Groups machines with equal outcome and output: failures first, then the larger groups. */
export function foldOutcomes(results: readonly MachineResult[]): OutcomeGroup[] {
	return groupBy(results, toKey)
		.map(group => ({results: group, outcome: group[0].outcome}))
		.sort((one, other) => rank(one.outcome) - rank(other.outcome) || other.results.length - one.results.length);
}

/** Items with equal keys together, in the order of their first. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): [T, ...T[]][] {
	const groups = new Map<string, [T, ...T[]]>();
	for (const item of items) {
		const key = keyOf(item);
		const group = groups.get(key);
		if (group) group.push(item);
		else groups.set(key, [item]);
	}
	return [...groups.values()];
}

/** `7 of 10 exit 0, equal: web1 web2 web3`. */
export function describeFold(what: string, names: readonly string[], total: number): string {
	return `${names.length} of ${total} ${what}${names.length > 1 ? ', equal' : ''}: ${names.join(' ')}`;
}

/** The same of a group. */
export function describeGroup({results, outcome}: OutcomeGroup, total: number): string {
	const names = results.map(({id}) => id);
	if (outcome.kind === 'exited') return describeFold(describeOutcome(outcome), names, total);
	return `${names.length} of ${total} ${describeOutcome(outcome)}: ${names.join(' ')}`;
}

/** The message of a lost machine has its address in it, so that no two are alike. */
function toKey({outcome, digest}: MachineResult): string {
	const {kind} = outcome;
	return JSON.stringify(kind === 'lost' ? {kind, digest} : {outcome, digest});
}

/** Failures, successes, machines that were left out. */
function rank(outcome: MachineOutcome): number {
	if (isFailure(outcome)) return 0;
	return isSuccess(outcome) ? 1 : 2;
}
