// Renders the table of methods as docs/protocol.md. Pure: the table goes in, text comes out.

const SINCE = {
	v0: 'first protocol (March 2026)',
	v1: 'April to May 2026',
	'2026-06': 'June 2026',
	'2026-07': 'July 2026',
	'2026-08': 'August 2026',
	0.166: 'codex 0.166',
	longarm: 'longarm',
};

export function renderProtocol(methods, requiredScope) {
	const entries = Object.entries(methods);
	return [
		'# Protocol',
		'',
		'Generated from `src/protocol/methods/` by `npm run docs`; a test keeps it true.',
		'',
		'JSON-RPC without the `jsonrpc` member: one message per WebSocket message, or per line on stdio. `PathUri` is a',
		'`file:` URI; an absolute native path is accepted too. `Base64` is the standard alphabet with padding. A member',
		'with `?` may be omitted or `null`. Unknown members are ignored. The scope is what a token has to be good for; see',
		'[security.md](security.md).',
		'',
		'| name | kind | sent by | since | scope | capability | served |',
		'|---|---|---|---|---|---|---|',
		...entries.map(([name, method]) => {
			const {kind, from, since, capability = '', unserved} = method;
			const answer = from === 'server' ? '' : unserved ? 'not yet' : 'yes';
			const scope = (from === 'client' && requiredScope(method)) || '';
			return `| [\`${name}\`](#${anchor(name)}) | ${kind} | ${from} | ${SINCE[since]} | ${scope} | ${capability} | ${answer} |`;
		}),
		'',
		...entries.flatMap(([name, method]) => section(name, method)),
	].join('\n');
}

function section(name, {kind, family, summary, params, result}) {
	const lines = [`## ${name}`, '', summary, ''];
	if (family !== 'handshake') lines.push(`Family in handshake errors: \`${family}\`.`, '');
	lines.push('```ts', `params: ${typeText(params)}`);
	if (kind === 'request') lines.push(`result: ${typeText(result)}`);
	return [...lines, '```', ''];
}

const anchor = name => name.toLowerCase().replaceAll(/[^\w -]/g, '');

/** A schema in the notation of TypeScript. */
export function typeText(schema, indent = '') {
	const title = schema.pipe?.find(item => item.type === 'title')?.title;
	if (title) return title;
	const inner = `${indent}  `;
	switch (schema.type) {
		case 'object':
		case 'strict_object':
		case 'loose_object': {
			const members = Object.entries(schema.entries).map(([name, member]) => {
				const optional = member.type === 'optional' || member.type === 'nullish';
				return `${inner}${name}${optional ? '?' : ''}: ${typeText(member, inner)}${defaultText(member)};`;
			});
			return members.length === 0 ? '{}' : `{\n${members.join('\n')}\n${indent}}`;
		}
		case 'optional':
		case 'nullish':
			return typeText(schema.wrapped, indent);
		case 'nullable':
			return `${typeText(schema.wrapped, indent)} | null`;
		case 'array': {
			const item = typeText(schema.item, indent);
			return item.includes('|') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
		}
		case 'record':
			return `Record<${typeText(schema.key)}, ${typeText(schema.value)}>`;
		case 'picklist':
			return schema.options.map(option => JSON.stringify(option)).join(' | ');
		case 'literal':
			return JSON.stringify(schema.literal);
		case 'union':
			return schema.options.map(option => typeText(option, indent)).join(' | ');
		case 'variant':
			return schema.options.map(option => `\n${inner}| ${typeText(option, inner)}`).join('');
		default:
			return schema.type;
	}
}

function defaultText(member) {
	const value = typeof member.default === 'function' ? member.default() : member.default;
	return value === undefined ? '' : ` /* default ${JSON.stringify(value)} */`;
}
