import fs from 'node:fs';
import {promisify} from 'node:util';
import {type BytePath, toSystem} from '../byte-path.js';
import {mayHang} from '../mounts.js';

/** Times go to the system as fractions of seconds and are cut off to microseconds: half of one keeps them whole. */
const HALF_MICROSECOND = 5e-7;

const futimes = promisify(fs.futimes);

/** Sets when an open file or directory was changed. */
export async function setTime(fd: number, mtimeMs: number): Promise<void> {
	const [now, changed] = [Date.now() / 1000, seconds(mtimeMs)];
	if (mayHang()) await futimes(fd, now, changed);
	else fs.futimesSync(fd, now, changed);
}

/** Sets when a link itself was made. */
export async function setLinkTime(link: BytePath, mtimeMs: number): Promise<void> {
	const [now, changed] = [Date.now() / 1000, seconds(mtimeMs)];
	if (mayHang()) await fs.promises.lutimes(toSystem(link), now, changed);
	else fs.lutimesSync(toSystem(link), now, changed);
}

function seconds(ms: number): number {
	return ms / 1000 + HALF_MICROSECOND;
}
