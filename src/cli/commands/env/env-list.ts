import {defaultProvider} from '../../../environments/config/default-provider.js';
import {
	type EnvironmentProvider,
	environmentIds,
	LOCAL,
	readSnapshot,
} from '../../../environments/environment-provider.js';
import {type EnvironmentLabels, formatLabels} from '../../../shared/labels.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import type {TargetDescription} from '../../../transports/node/transport-scheme.js';
import {describeTarget, parseTarget, readDefault} from '../../common/resolve-target.js';
import {EXIT} from '../../exit-codes.js';

export interface EnvListOptions {
	readonly json: boolean;
	/** Source of names; `environments.toml` and the variables by default. */
	readonly provider?: EnvironmentProvider | undefined;
}

interface Row {
	readonly name: string;
	readonly where: TargetDescription;
	readonly labels?: EnvironmentLabels | undefined;
}

interface Listed extends Row {
	readonly isDefault: boolean;
	/** The variable or the file that makes it the default. */
	readonly reason: string | undefined;
}

/** Prints every environment that has a name. */
export async function listEnvironments({json, provider}: EnvListOptions): Promise<number> {
	const listed = await readListed(provider);
	process.stdout.write(json ? toJson(listed) : toTable(listed));
	return EXIT.ok;
}

async function readListed(provider: EnvironmentProvider | undefined): Promise<Listed[]> {
	const snapshot = await readSnapshot(provider ?? defaultProvider());
	const {name: chosen, reason} = await readDefault({provider});
	const known: Row[] = environmentIds(snapshot).map(name => ({
		name,
		where: describeTarget(snapshot.remotes.get(name)),
		labels: snapshot.labels?.get(name),
	}));
	const found = chosen === undefined ? undefined : findChosen(known, chosen);
	const rows = found && !known.includes(found) ? [...known, found] : known;
	return rows.map(row => ({...row, isDefault: row === found, reason: row === found ? reason : undefined}));
}

/** The row of the default, which need not be one of those with a name. */
function findChosen(known: readonly Row[], name: string): Row {
	const target = parseTarget(name);
	if (!target) {
		const where = name === LOCAL ? describeTarget(undefined) : {members: {kind: 'unknown'}, text: 'unknown'};
		return known.find(row => row.name === name) ?? {name, where};
	}
	const where = describeTarget(target);
	const {url} = where.members as {url?: unknown};
	const own = {name: typeof url === 'string' ? url : name, where};
	return known.find(row => row.where.text === where.text) ?? own;
}

function toJson(listed: readonly Listed[]): string {
	const rows = listed.map(({name, isDefault, reason, where, labels}) => ({
		name,
		default: isDefault,
		...(reason !== undefined && {defaultBy: reason}),
		...where.members,
		...(labels && {labels}),
	}));
	return `${toSafeJson(rows, '\t')}\n`;
}

function toTable(listed: readonly Listed[]): string {
	if (listed.length === 0) return 'there are no environments\n';
	const width = Math.max(...listed.map(({name}) => name.length));
	return listed
		.map(({name, isDefault, reason, where, labels}) => {
			const marks = labels ? `  [${formatLabels(labels)}]` : '';
			const why = reason === undefined ? '' : `  (the default by ${reason})`;
			return `${isDefault ? '*' : ' '} ${name.padEnd(width)}  ${where.text}${marks}${why}\n`;
		})
		.join('');
}
