import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkModelFile } from '../../src/models/check-model.ts'

const entry = {
  module: 'slow',
  names: ['work'],
  kind: 'parse',
  tag: 'CPU/LOOP',
  cost: 'per-byte',
  input: 0,
  alternative: 'a thread job',
}

const file = (entries: unknown): string => JSON.stringify({ version: 1, about: 'a test', entries })

function problem(text: string): string {
  try {
    checkModelFile('models.json', text)
  } catch (error) {
    assert.equal((error as { code: string }).code, 'HDL_MODEL_INVALID')
    return (error as Error).message
  }
  return 'none'
}

test('a valid file passes unchanged', () => {
  assert.deepEqual(checkModelFile('models.json', file([entry])).entries, [entry])
})

const mistakes: [name: string, text: string, says: RegExp][] = [
  ['no JSON', '{', /models\.json .*it is not JSON/],
  ['no object', '[]', /it is \[\], expected an object/],
  ['version', JSON.stringify({ version: 2, about: 'x', entries: [] }), /version is 2, expected 1/],
  ['no list', file({}), /entries is \{\}, expected a list/],
  [
    'kind',
    file([{ ...entry, kind: 'slow' }]),
    /entries\[0\]\.kind is "slow", expected one of sync-io/,
  ],
  ['a field too many', file([{ ...entry, costs: 1 }]), /entries\[0\]\.costs is not a field/],
  ['no names', file([{ ...entry, names: [] }]), /entries\[0\]\.names is empty/],
  [
    'names',
    file([entry, { ...entry, names: [1] }]),
    /entries\[1\]\.names\[0\] is 1, expected text/,
  ],
  ['tag', file([{ ...entry, tag: 'POOL' }]), /entries\[0\]\.tag is "POOL", expected one of LOOP/],
  ['input missing', file([{ ...entry, input: undefined }]), /entries\[0\]\.input is missing/],
  ['input', file([{ ...entry, input: 'first' }]), /entries\[0\]\.input is "first", expected 0/],
  ['input too many', file([{ ...entry, cost: 'disk' }]), /entries\[0\]\.input is only for/],
  ['alternative', file([{ ...entry, alternative: '' }]), /entries\[0\]\.alternative is ""/],
  [
    'source without a place',
    file([{ kind: 'source', gives: 'file' }]),
    /entries\[0\]\.module is missing/,
  ],
  [
    'source with half a place',
    file([{ kind: 'source', gives: 'x', property: ['a'] }]),
    /\.of is missing/,
  ],
  ['limit', file([{ kind: 'source', gives: 'x', event: ['data'], limit: -1 }]), /limit is -1/],
]

for (const [name, text, says] of mistakes) {
  test(`a mistake is reported with its place: ${name}`, () => assert.match(problem(text), says))
}
