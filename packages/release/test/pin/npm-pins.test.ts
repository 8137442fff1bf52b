import assert from 'node:assert/strict'
import { test } from 'node:test'
import { npmPins } from '../../src/pin/npm-pins.ts'
import { planOf, planned } from '../plan-kit.ts'

function pins(manifest: Record<string, unknown>): [path: string, value: string][] {
  const own = { name: 'app', version: '0.1.0', ...manifest }
  const plan = planOf(
    '/repository',
    [
      { manifest: { name: 'a', version: '1.0.0' }, becomes: '1.2.0' },
      { manifest: { name: 'b', version: '2.0.0' } },
      { manifest: own },
    ],
    { default: { react: '^19.0.0', a: '^1.0.0' } },
  )
  return npmPins(planned(plan, 'app'), plan, own).map(({ path, value }) => [path.join(' '), value])
}

test('S60 internal ranges become exact, external ones stay', () => {
  const found = pins({ dependencies: { a: '^1.0.0', express: '^5.0.0', b: 'workspace:~' } })
  assert.deepEqual(found, [
    ['dependencies a', '1.2.0'],
    ['dependencies b', '2.0.0'],
  ])
})

test('S61 each group follows its policy', () => {
  const found = pins({
    dependencies: { a: 'workspace:^' },
    optionalDependencies: { a: '~1.0.0' },
    peerDependencies: { a: 'workspace:^', b: '^2.0.0' },
    devDependencies: { a: 'workspace:*', b: '^2.0.0' },
  })
  assert.deepEqual(found, [
    ['dependencies a', '1.2.0'],
    ['devDependencies a', '1.2.0'],
    ['optionalDependencies a', '1.2.0'],
    ['peerDependencies a', '^1.2.0'],
  ])
})

test('S62 a manifest without internal ranges is unchanged', () => {
  assert.deepEqual(pins({ dependencies: { a: '1.2.0', express: '5' } }), [])
  // An older version on the registry is meant.
  assert.deepEqual(pins({ dependencies: { a: '^0.9.0' } }), [])
})

test('S63 aliases keep their target, catalogs say their range', () => {
  const found = pins({
    dependencies: { x: 'npm:a@workspace:^', y: 'npm:a@^1.0.0', react: 'catalog:', a: 'catalog:' },
  })
  assert.deepEqual(found, [
    ['dependencies x', 'npm:a@1.2.0'],
    ['dependencies y', 'npm:a@1.2.0'],
    ['dependencies react', '^19.0.0'],
    ['dependencies a', '1.2.0'],
  ])
})

test('a range that cannot be installed is an error', () => {
  assert.throws(() => pins({ dependencies: { x: 'link:../../x' } }), { code: 'HDL_LOCAL_RANGE' })
})
