import {withFileErrors} from '../index.js';
import * as attributing from './attributes.js';
import * as listing from './list-tree.js';
import * as packing from './pack-tree.js';
import * as unpacking from './unpack-tree.js';

export type {TreePacker} from './pack-tree.js';
export {type ArchiveOutcome, isTransfer} from './transfer-outcome.js';
export type {TreeUnpacker, UnpackTreeOptions} from './unpack-tree.js';

export const listTree = withFileErrors(listing.listTree);
export const setAttributes = withFileErrors(attributing.setAttributes);
export const packTree = withFileErrors(packing.packTree);
export const unpackTree = withFileErrors(unpacking.unpackTree);
