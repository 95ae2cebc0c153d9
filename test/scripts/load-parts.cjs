// Loads every part of a copy of the built command through its launcher and prints, by part, the names it exports and how
// many scripts had a cache that V8 took or rejected.
//   node load-parts.cjs LAUNCHER together|alone
// `alone` begins anew for each part. The first part of the copy is replaced by one that loads the part named here.
'use strict';
const {readdirSync, readFileSync, rmSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const {Script} = require('node:vm');

const [, , launcher, way] = process.argv;
const folder = path.join(path.dirname(launcher), 'parts');
const names = readdirSync(folder)
	.filter(name => name.endsWith('.js'))
	.flatMap(listParts)
	.filter(name => name !== 'main.js#main.js');
rmSync(path.join(folder, `main.js.${process.version}-${process.arch}.cache`), {force: true});
const main = path.join(folder, 'main.js');
// The last of two members of the same name counts.
const first = '"main.js":(function (require, module, importMetaUrl) {globalThis.loadPart=require})';
writeFileSync(
	main,
	readFileSync(main, 'latin1').replace(/\}\)$/, () => `,\n${first}})`),
);

// Each launcher that begins anew would keep what V8 compiled when this ends.
process.setMaxListeners(0);
const report = {};
let scripts;
for (const name of names) {
	if (way === 'alone') delete require.cache[launcher];
	({scripts} = require(launcher));
	report[name] = {exports: Object.keys(globalThis.loadPart(`./${name}`)), ...tally()};
}
console.log(JSON.stringify(report));
process.removeAllListeners('exit');

/** `FILE`, or `FILE#PART` of each part of a file with several. */
function listParts(file) {
	const value = new Script(readFileSync(path.join(folder, file), 'latin1')).runInThisContext();
	return typeof value === 'function' ? [file] : Object.keys(value).map(part => `${file}#${part}`);
}

function tally() {
	const states = [...scripts.values()].map(({script}) => script.cachedDataRejected);
	return {
		taken: states.filter(state => state === false).length,
		rejected: states.filter(state => state === true).length,
	};
}
