// Loads every part of a copy of the built command through its launcher and prints, by part, the names it exports and how
// many scripts had a cache that V8 took or rejected.
//   node load-parts.cjs LAUNCHER together|alone
// `alone` begins anew for each part. The copy's main.js is replaced by one that loads the part named here.
'use strict';
const {readdirSync, rmSync, writeFileSync} = require('node:fs');
const path = require('node:path');

const [, , launcher, way] = process.argv;
const folder = path.join(path.dirname(launcher), 'parts');
const names = readdirSync(folder).filter(name => name.endsWith('.js') && name !== 'main.js');
rmSync(path.join(folder, `main.js.${process.version}-${process.arch}.cache`), {force: true});
writeFileSync(path.join(folder, 'main.js'), '(function (require, module) {globalThis.loadPart=require})');

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

function tally() {
	const states = [...scripts.values()].map(({cachedDataRejected}) => cachedDataRejected);
	return {
		taken: states.filter(state => state === false).length,
		rejected: states.filter(state => state === true).length,
	};
}
