/** Members whose numbers differ from call to call. */
const VARYING = new Set([
	'pid',
	'parentPid',
	'startedAtMs',
	'ageMs',
	'sinceMs',
	'durationMs',
	'createdAtMs',
	'modifiedAtMs',
	'generation',
	'instanceId',
	'executorVersion',
]);
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Members of errors that callers look at. */
const ERROR_MEMBERS = ['code', 'errorCode', 'reason', 'path', 'target', 'detail', 'hint', 'context', 'result', 'cause'];

/** The result of a call, or its error, in a form that is the same wherever the call was made. */
export async function outcomeOf(call: () => unknown, directory: string): Promise<unknown> {
	try {
		return {value: normalize(await call(), directory)};
	} catch (error) {
		return {thrown: normalize(error, directory)};
	}
}

function normalize(value: unknown, directory: string): unknown {
	const each = (item: unknown): unknown => normalize(item, directory);
	if (typeof value === 'string') return value.replaceAll(directory, '<directory>').replace(UUID, '<uuid>');
	if (value instanceof Uint8Array) return {bytes: each(new TextDecoder().decode(value))};
	if (value instanceof Date) return '<date>';
	if (typeof value === 'function') return '<function>';
	if (value instanceof Error) return describeError(value, each);
	if (Array.isArray(value)) return value.map(each);
	if (typeof value !== 'object' || value === null) return value;
	// A member that is undefined is one that is not there.
	const members = Object.entries(value).filter(([, member]) => member !== undefined);
	return Object.fromEntries(
		members.map(([name, member]) => [name, VARYING.has(name) && member !== null ? '<varies>' : each(member)]),
	);
}

/** Its cause by class only: the way there may differ. */
function describeError(error: Error, each: (value: unknown) => unknown): object {
	const members = error as unknown as Record<string, unknown>;
	const known = ERROR_MEMBERS.filter(name => name !== 'cause' && members[name] !== undefined);
	return {
		class: error.name,
		message: each(error.message),
		...Object.fromEntries(known.map(name => [name, each(members[name])])),
	};
}
