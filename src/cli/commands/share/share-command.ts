import {LOCAL} from '../../../environments/environment-provider.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {formatConsoleLink, formatShareLink, parseShareLink} from '../../common/processes/share-link.js';
import {describeTarget, resolveDefault, resolveTarget} from '../../common/resolve-target.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';

export interface ShareRequest extends ProcessPlace {
	/** Whether the holder may drive. */
	readonly drive: boolean;
	/** Time until the link expires. */
	readonly time: string | undefined;
	readonly json: boolean;
	/** Lists links instead of making one. */
	readonly list: boolean;
	/** Id of a link, or `all`. */
	readonly revoke: string | undefined;
}

const ALL = 'all';

/** Prints a link for one process and one role. */
export async function share(id: string, request: ShareRequest): Promise<number> {
	const {drive, time, json} = request;
	const forMs = parseTimeOption('--for', time);
	if (parseShareLink(id)) throw usageError('a link cannot be shared; pass it on as it is');
	if (request.list || request.revoke !== undefined) return administer(id, request);
	const url = await findUrl(request);
	return withProcess(id, {...request, quiet: true}, async ({environment, reference}) => {
		const process = await environment.processes.reference(reference);
		const {token, processId, role, expiresAt} = await process.share({
			role: drive ? 'drive' : 'observe',
			...(forMs !== undefined && {for: forMs}),
		});
		const link = formatShareLink({url, processId, token});
		const hasConsole = (await environment.server()).capabilities['webConsole'] === true && /^wss?:/.test(url);
		const forBrowser = hasConsole ? formatConsoleLink({url, processId, token}) : undefined;
		const members = {link, url, token, id: processId, role, expiresAt: expiresAt.toISOString()};
		if (json) writeJson({...members, ...(forBrowser !== undefined && {consoleLink: forBrowser})}, '\t');
		else writeLines([link]);
		// Beside standard output, which is the link alone.
		if (!json && forBrowser !== undefined) writeMessage(`in a browser: ${forBrowser}`);
		return EXIT.ok;
	});
}

/** Lists or revokes the links of a process. */
async function administer(id: string, request: ShareRequest): Promise<number> {
	const {list, revoke, json, drive, time} = request;
	if ((list && revoke !== undefined) || drive || time !== undefined) {
		throw usageError('--list and --revoke go with no other option of a link, and not with each other');
	}
	return withProcess(id, {...request, quiet: true}, async ({environment, reference}) => {
		const process = await environment.processes.reference(reference);
		const shares = await process.shares();
		if (list) {
			if (json) writeJson(shares, '\t');
			else writeLines(shares.map(({id: link, role, expiresAt}) => `${link} ${role} until ${expiresAt.toISOString()}`));
			return EXIT.ok;
		}
		const meant = shares.filter(({id: link}) => revoke === ALL || link === revoke);
		if (meant.length === 0 && revoke !== ALL) {
			writeMessage(`error: the process has no link with the id ${revoke}`, 'hint: longarm share --list lists them');
			return EXIT.failed;
		}
		for (const {id: link} of meant) await process.unshare(link);
		return EXIT.ok;
	});
}

/** Address of the server for others, without secrets. */
async function findUrl({environment, quiet}: ProcessPlace): Promise<string> {
	const target = environment === undefined ? (await resolveDefault({quiet}))?.target : await findTarget(environment);
	if (!target) throw usageError('processes of this machine itself have no link: your local daemon is for you alone');
	const {url} = describeTarget(target).members as {url?: unknown};
	if (typeof url === 'string') return url;
	throw usageError('a server that is started for one connection has no address for a link; give its URL with -e');
}

async function findTarget(environment: string): Promise<Awaited<ReturnType<typeof resolveTarget>> | undefined> {
	return environment === LOCAL ? undefined : resolveTarget(environment);
}
