import {DEFAULT_TENANT, TOKEN_KINDS, type TokenRecord} from '../../../hub/store/hub-records.js';
import type {CreatedToken, TokenStore} from '../../../hub/store/hub-store.js';
import {HubTokens} from '../../../hub/store/hub-tokens.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {writeMessage} from '../../common/messages.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {askHub} from './ask-hub.js';
import {type HubDirectoryOptions, ownHubDirectory} from './hub-directory.js';

type TokenEdits = Pick<TokenStore, 'list' | 'create' | 'revoke'>;

/** Makes a token and writes it, alone on its line; it is kept nowhere. */
export async function createHubToken(
	kind: string,
	pattern: string,
	{data, json, tenant = DEFAULT_TENANT}: HubDirectoryOptions & {readonly tenant: string | undefined},
): Promise<number> {
	const known = TOKEN_KINDS.find(each => each === kind);
	if (known === undefined) throw usageError(`a token is for an ${TOKEN_KINDS.join(' or a ')}, not for \`${kind}\``);
	const {token, record} = await (await openTokens(data)).create(known, pattern, tenant);
	await writeOut(`${json ? toSafeJson({id: record.id, kind: known, tenant, pattern, token}) : token}\n`);
	return EXIT.ok;
}

export async function listHubTokens({data, json}: HubDirectoryOptions): Promise<number> {
	const records = await (await openTokens(data)).list();
	const tokens = records.map(({id, kind, tenant, pattern, createdAt}) => ({
		id,
		kind,
		tenant,
		pattern,
		createdAt: new Date(createdAt).toISOString(),
	}));
	if (json) await writeOut(`${toSafeJson(tokens)}\n`);
	else for (const token of tokens) await writeOut(`${formatToken(token)}\n`);
	return EXIT.ok;
}

/** A running hub refuses it from the next request on. */
export async function revokeHubToken(id: string, {data}: HubDirectoryOptions): Promise<number> {
	if (await (await openTokens(data)).revoke(id)) return EXIT.ok;
	writeMessage(`error: there is no token ${id}`, 'hint: longarm hub token list shows those that are good.');
	return EXIT.failed;
}

/** The tokens in the directory, or those of the node that runs there if they are in NATS. */
async function openTokens(data: string | undefined): Promise<TokenEdits> {
	const directory = ownHubDirectory(data);
	const {isStateInNats} = await import('../../../hub/nats/nats-marker.js');
	if (!isStateInNats(directory)) {
		return new HubTokens(directory, ({path, line, reason}) =>
			writeMessage(`warning: line ${line} of ${path} is skipped: ${reason}`),
		);
	}
	return {
		list: async () => {
			const answer = await askHub<{readonly tokens: readonly TokenRecord[]}>(directory, {
				method: 'GET',
				path: '/tokens',
			});
			return answer.tokens;
		},
		create: (kind, pattern, tenant) =>
			askHub<CreatedToken>(directory, {method: 'POST', path: '/tokens', body: {kind, pattern, tenant}}),
		revoke: async id => {
			const call = {method: 'POST', path: '/tokens/revoke', body: {id}} as const;
			return (await askHub<{readonly isRevoked: boolean}>(directory, call)).isRevoked;
		},
	};
}

function formatToken(token: Pick<TokenRecord, 'id' | 'kind' | 'tenant' | 'pattern'> & {createdAt: string}): string {
	const tenant = token.tenant === DEFAULT_TENANT ? '' : `  ${token.tenant}`;
	return `${token.id}  ${token.kind.padEnd(8)}  ${token.pattern.padEnd(24)}  ${token.createdAt}${tenant}`;
}
