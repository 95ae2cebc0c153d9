import {type HubTokenKind, TOKEN_KINDS} from '../../../hub/store/hub-records.js';
import {HubTokens} from '../../../hub/store/hub-tokens.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {writeMessage} from '../../common/messages.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {type HubDirectoryOptions, hubDirectory} from './hub-directory.js';

/** Makes a token and writes it, alone on its line; it is kept nowhere. */
export async function createHubToken(
	kind: string,
	pattern: string,
	{data, json}: HubDirectoryOptions,
): Promise<number> {
	const known = TOKEN_KINDS.find(each => each === kind);
	if (known === undefined) throw usageError(`a token is for an ${TOKEN_KINDS.join(' or a ')}, not for \`${kind}\``);
	const {token, record} = new HubTokens(hubDirectory(data)).create(known, pattern);
	await writeOut(`${json ? toSafeJson({id: record.id, kind: known, pattern, token}) : token}\n`);
	return EXIT.ok;
}

export async function listHubTokens({data, json}: HubDirectoryOptions): Promise<number> {
	const tokens = new HubTokens(hubDirectory(data)).list().map(({id, kind, pattern, createdAt}) => ({
		id,
		kind,
		pattern,
		createdAt: new Date(createdAt).toISOString(),
	}));
	if (json) await writeOut(`${toSafeJson(tokens)}\n`);
	else for (const token of tokens) await writeOut(`${formatToken(token)}\n`);
	return EXIT.ok;
}

/** A running hub refuses it from the next request on. */
export async function revokeHubToken(id: string, {data}: HubDirectoryOptions): Promise<number> {
	if (new HubTokens(hubDirectory(data)).revoke(id)) return EXIT.ok;
	writeMessage(`error: there is no token ${id}`, 'hint: longarm hub token list shows those that are good.');
	return EXIT.failed;
}

function formatToken(token: {id: string; kind: HubTokenKind; pattern: string; createdAt: string}): string {
	return `${token.id}  ${token.kind.padEnd(8)}  ${token.pattern.padEnd(24)}  ${token.createdAt}`;
}
