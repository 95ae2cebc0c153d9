import {isatty} from 'node:tty';
import {describeGroup, foldOutcomes, type OutcomeGroup} from '../../../environments/many/fold-outcomes.js';
import {isSuccess, type MachineOutcome} from '../../../environments/many/machine-outcome.js';
import type {MachineOutput, MachineResult} from '../../../environments/many/run-on-each.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {toLine} from '../../common/messages.js';
import {printable} from '../../common/printable.js';
import {writeOut} from '../../common/stdout.js';
import {toOutputMembers} from '../run/attach/output-members.js';
import {STDOUT} from '../run/attach/output-writer.js';

const LINE_FEED = 0x0a;

/** How a command went on many machines, one part per distinct outcome and output. */
export class FoldedReport {
	readonly #total: number;

	constructor(total: number) {
		this.#total = total;
	}

	/** One line per group, and the messages of machines that failed; no output. */
	toSummary(results: readonly MachineResult[]): string[] {
		return foldOutcomes(results).flatMap(group => [this.#head(group), ...toMessages(group)]);
	}

	/** The same with the output of each group below its line. */
	async writeText(results: readonly MachineResult[]): Promise<void> {
		for (const group of foldOutcomes(results)) {
			const [{stdout, stderr}] = group.results;
			const lines = [this.#head(group), ...toMessages(group)].map(line => `${toLine(line)}\n`);
			await writeOut(lines.join(''));
			await writeOutput(stdout);
			if (stderr.totalBytes === 0) continue;
			if (stdout.totalBytes > 0) await writeOut('[standard error]\n');
			await writeOutput(stderr);
		}
	}

	async writeJson(results: readonly MachineResult[]): Promise<void> {
		const count = (isCounted: (outcome: MachineOutcome) => boolean): number =>
			results.filter(({outcome}) => isCounted(outcome)).length;
		const report = {
			machines: results.length,
			succeeded: count(isSuccess),
			failed: count(each => each.kind === 'failed' || (each.kind === 'exited' && !isSuccess(each))),
			lost: count(({kind}) => kind === 'lost'),
			skipped: count(({kind}) => kind === 'skipped'),
			groups: foldOutcomes(results).map(toJsonGroup),
		};
		await writeOut(`${toSafeJson(report)}\n`);
	}

	#head(group: OutcomeGroup): string {
		return `[${describeGroup(group, this.#total)}]`;
	}
}

/** One line if all have the same message, else one per machine. */
function toMessages({results}: OutcomeGroup): string[] {
	const messages = results.map(({id, outcome}) => ({id, text: messageOf(outcome)}));
	const [first] = messages;
	if (first?.text === undefined) return [];
	if (messages.every(({text}) => text === first.text)) return [first.text];
	return messages.map(({id, text}) => `${id}: ${text}`);
}

function messageOf(outcome: MachineOutcome): string | undefined {
	if (outcome.kind === 'failed' || outcome.kind === 'lost') return outcome.message;
	if (outcome.kind !== 'skipped') return undefined;
	const why = {
		canary: 'the command failed on a machine of --canary',
		failures: 'it failed on as many machines as --stop-after allows',
		aborted: 'it was stopped before',
	};
	return why[outcome.reason];
}

/** On a terminal control characters of other machines are written out; a last line gets its end. */
async function writeOutput({markedBytes}: MachineOutput): Promise<void> {
	if (markedBytes.length === 0) return;
	await writeOut(isatty(STDOUT) ? printableLines(markedBytes) : markedBytes);
	if (markedBytes.at(-1) !== LINE_FEED) await writeOut('\n');
}

function printableLines(bytes: Uint8Array): string {
	return new TextDecoder()
		.decode(bytes)
		.split('\n')
		.map(line => line.replace(/\r$/, '').split('\t').map(printable).join('\t'))
		.join('\n');
}

function toJsonGroup({results, outcome}: OutcomeGroup): Record<string, unknown> {
	const [{stdout, stderr}] = results;
	const messages = results.flatMap(({id, outcome: own}) => ('message' in own ? [[id, own.message] as const] : []));
	return {
		names: results.map(({id}) => id),
		outcome: outcome.kind,
		...(outcome.kind === 'exited' && {exitCode: outcome.exitCode, by: outcome.by}),
		...(outcome.kind === 'skipped' && {reason: outcome.reason}),
		...(messages.length > 0 && {messages: Object.fromEntries(messages)}),
		...toOutputMembers('stdout', stdout),
		...toOutputMembers('stderr', stderr),
		truncated: stdout.omittedBytes + stderr.omittedBytes > 0 || (outcome.kind === 'exited' && !outcome.isComplete),
	};
}
