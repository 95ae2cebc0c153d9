import {writeJson, writeLines} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import {type DoctorFinding, runDoctorChecks, type Status} from './doctor-checks.js';

const MARKS: Record<Status, string> = {ok: 'ok     ', limited: 'limited', missing: 'MISSING'};

/** Says what this machine can do; the exit code is 1 when something does not work at all. */
export async function doctor({json}: {json: boolean}): Promise<number> {
	const findings = await runDoctorChecks();
	if (json) writeJson(findings, '\t');
	else writeLines(toLines(findings));
	return findings.some(({status}) => status === 'missing') ? EXIT.failed : EXIT.ok;
}

function toLines(findings: readonly DoctorFinding[]): string[] {
	const width = Math.max(...findings.map(({check}) => check.length));
	return findings.flatMap(({check, status, detail, fix}) => [
		`${MARKS[status]}  ${check.padEnd(width)}  ${detail}`,
		...(fix ? [`${' '.repeat(MARKS.ok.length + width + 4)}mend it with: ${fix}`] : []),
	]);
}
