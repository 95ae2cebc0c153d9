import type {ListedProcess} from '../../../client/process/shared-process.js';
import {toLine} from '../../common/messages.js';

/** A process, and the environment it is in. */
export interface ProcessRow {
	readonly environment: string;
	readonly process: ListedProcess;
}

interface Column {
	readonly title: string;
	readonly text: (row: ProcessRow) => string;
	readonly isNumber?: true;
}

const NONE = '-';
const GAP = '  ';
const CUT = '…';
const SECOND_MS = 1000;
/** Units of an age, and the age from which on each is used. */
const AGE_UNITS = [
	['d', 24 * 60 * 60, 2 * 24 * 60 * 60],
	['h', 60 * 60, 2 * 60 * 60],
	['m', 60, 2 * 60],
] as const;

const ENVIRONMENT_COLUMN: Column = {title: 'ENV', text: ({environment}) => environment};
const COLUMNS: readonly Column[] = [
	{title: 'ID', text: ({process}) => process.processId},
	{title: 'NAME', text: ({process}) => process.name || NONE},
	{title: 'STATE', text: ({process}) => process.state},
	{title: 'EXIT', text: ({process}) => String(process.exitCode ?? NONE), isNumber: true},
	{title: 'PID', text: ({process}) => String(process.pid ?? NONE), isNumber: true},
	{title: 'DRIVER', text: ({process}) => process.driver || NONE},
	{title: 'WAITING', text: ({process}) => process.waitingFor ?? NONE},
	{title: 'AGE', text: ({process}) => formatAge(process.ageMs), isNumber: true},
	{title: 'COMMAND', text: ({process}) => formatCommand(process.argv)},
];

export interface ProcessTableLayout {
	/** Several environments are shown. */
	readonly hasEnvironments: boolean;
	/** Lines are cut there. */
	readonly width?: number | undefined;
}

/** Lines of a table, the titles first, that a terminal may show. */
export function formatProcesses(rows: readonly ProcessRow[], {hasEnvironments, width}: ProcessTableLayout): string[] {
	const columns = hasEnvironments ? [ENVIRONMENT_COLUMN, ...COLUMNS] : COLUMNS;
	const cells = [columns.map(({title}) => title), ...rows.map(row => columns.map(({text}) => toLine(text(row))))];
	const widths = columns.map((_column, at) => Math.max(...cells.map(line => line[at]!.length)));
	return cells.map(line => cut(joinCells(line, columns, widths), width));
}

/** A process for programs. */
export function toProcessObject({environment, process}: ProcessRow, hasEnvironments: boolean): object {
	const {processId, startedAtMs, argv} = process;
	return {
		...(hasEnvironments && {environment}),
		id: processId,
		name: process.name ?? null,
		state: process.state,
		exitCode: process.exitCode,
		reason: process.reason,
		pid: process.pid,
		owner: process.owner ?? null,
		driver: process.driver ?? null,
		attached: process.attached ?? [],
		waitingFor: process.waitingFor ?? null,
		durable: process.durable ?? false,
		labels: process.labels ?? {},
		tty: process.tty,
		rows: process.rows ?? null,
		cols: process.cols ?? null,
		startedAt: toIsoTime(startedAtMs),
		ageMs: process.ageMs,
		outputBytes: process.outputBytes,
		spilledBytes: process.spilledBytes ?? null,
		generation: process.generation ?? null,
		command: argv,
	};
}

/** Null for a time that no date has. */
export function toIsoTime(ms: number): string | null {
	const date = new Date(ms);
	return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** `42s`, `17m`, `5h`, `3d`. */
export function formatAge(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / SECOND_MS));
	for (const [unit, length, least] of AGE_UNITS) {
		if (seconds >= least) return `${Math.floor(seconds / length)}${unit}`;
	}
	return `${seconds}s`;
}

/** Words of a command as a shell takes them. */
export function formatCommand(argv: readonly string[]): string {
	return argv.map(word => (/^[\w%+,./:=@-]+$/.test(word) ? word : quote(word))).join(' ');
}

function quote(word: string): string {
	return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The last column is as long as it is. */
function joinCells(cells: readonly string[], columns: readonly Column[], widths: readonly number[]): string {
	return cells
		.map((cell, at) => {
			if (at === cells.length - 1) return cell;
			return columns[at]!.isNumber ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!);
		})
		.join(GAP);
}

function cut(line: string, width: number | undefined): string {
	if (width === undefined || line.length <= width) return line;
	return `${line.slice(0, Math.max(0, width - CUT.length))}${CUT}`;
}
