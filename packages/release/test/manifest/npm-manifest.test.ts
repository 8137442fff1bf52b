import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import fc from 'fast-check'
import { dependencyGroups, localRangesIn } from '../../src/manifest/local-range.ts'
import { releaseManifest } from '../../src/manifest/npm-manifest.ts'
import { planOf, planned, type PackageSketch } from '../plan-kit.ts'

const core: PackageSketch = { manifest: { name: 'core', version: '1.0.0' }, becomes: '1.1.0' }

function release(manifest: Record<string, unknown>, options = {}): Record<string, unknown> {
  const own = { name: 'app', version: '2.0.0', ...manifest }
  const plan = planOf('/repository', [core, { manifest: own, becomes: '2.1.0' }])
  return { ...releaseManifest(planned(plan, 'app'), plan, options) }
}

test('the version is set, ranges are resolved in every group, and keys keep their order', () => {
  const released = release({
    description: 'x',
    peerDependencies: { core: 'workspace:^' },
    dependencies: { z: '^1.0.0', core: 'workspace:*', a: '1' },
    devDependencies: { core: 'workspace:~' },
    optionalDependencies: { core: 'link:../core' },
  })
  assert.equal(
    JSON.stringify(released),
    JSON.stringify({
      name: 'app',
      version: '2.1.0',
      description: 'x',
      peerDependencies: { core: '^1.1.0' },
      dependencies: { z: '^1.0.0', core: '1.1.0', a: '1' },
      devDependencies: { core: '~1.1.0' },
      optionalDependencies: { core: '^1.1.0' },
    }),
  )
})

for (const number of ['1e999', '-1e999']) {
  test(`a number that JSON cannot write is refused with file and field: ${number}`, () => {
    const manifest = JSON.parse(`{ "config": { "list": [1, { "most": ${number} }] } }`) as object
    assert.throws(
      () => release({ ...manifest }),
      (error) =>
        isError(error, 'HDL_BAD_MANIFEST') &&
        error.details.file === '/repository/packages/app/package.json' &&
        error.message.includes('"config.list.1.most" is a number too large for JavaScript'),
    )
  })
}

test('the manifest of the workspace is not changed', () => {
  const manifest = { name: 'app', version: '2.0.0', dependencies: { core: 'workspace:*' } }
  const plan = planOf('/repository', [core, { manifest }])
  const before = structuredClone(manifest)
  releaseManifest(planned(plan, 'app'), plan)
  assert.deepEqual(manifest, before)
})

test('publishConfig replaces the fields that pnpm replaces, and keeps those for the registry', () => {
  const released = release({
    main: 'src/index.ts',
    exports: { '.': './src/index.ts' },
    publishConfig: {
      access: 'public',
      main: 'dist/index.js',
      types: 'dist/index.d.ts',
      exports: { '.': './dist/index.js' },
      bin: { app: 'dist/cli.js' },
    },
  })
  assert.deepEqual(released, {
    name: 'app',
    version: '2.1.0',
    main: 'dist/index.js',
    exports: { '.': './dist/index.js' },
    publishConfig: { access: 'public' },
    types: 'dist/index.d.ts',
    bin: { app: 'dist/cli.js' },
  })
  assert.ok(!('publishConfig' in release({ publishConfig: { main: 'x.js' } })))
})

test('development dependencies can be left out', () => {
  const manifest = { devDependencies: { tool: 'link:../../tool' } }
  assert.throws(() => release(manifest), { code: 'HDL_LOCAL_RANGE' })
  assert.ok(!('devDependencies' in release(manifest, { devDependencies: 'omit' })))
})

test('every leak is reported with package, group and range', () => {
  assert.throws(
    () =>
      release({
        dependencies: { ghost: 'workspace:*', ok: '1' },
        peerDependencies: { vue: 'catalog:' },
      }),
    (error) => {
      assert.ok(isError(error, 'HDL_LOCAL_RANGE'))
      assert.match(error.message, /^app: "ghost" in dependencies is "workspace:\*"/)
      const all = error.errors as { details: Record<string, string> }[]
      assert.deepEqual(
        all.map(({ details }) => [details['group'], details['dependency'], details['range']]),
        [
          ['dependencies', 'ghost', 'workspace:*'],
          ['peerDependencies', 'vue', 'catalog:'],
        ],
      )
      return true
    },
  )
})

test('a local range in overrides or resolutions is a leak too', () => {
  for (const manifest of [
    { overrides: { a: { b: 'file:../b' } } },
    { resolutions: { b: 'portal:../b' } },
  ]) {
    assert.throws(() => release(manifest), { code: 'HDL_LOCAL_RANGE' })
  }
  // pnpm keeps its own settings to the workspace.
  assert.equal(release({ pnpm: { overrides: { b: 'workspace:*' } } })['pnpm'], undefined)
})

test('private packages, impossible versions and different names are not packed', () => {
  assert.throws(() => release({ publishConfig: { name: 'other' } }), /gives it another name/)
  assert.throws(() => release({ private: true }), /it is private/)
  const plan = planOf('/repository', [{ manifest: { name: 'app', version: 'x' } }])
  assert.throws(() => releaseManifest(planned(plan, 'app'), plan), /"x" is not a version/)
  const built = planOf('/repository', [{ manifest: { name: 'app', version: '1.0.0+linux' } }])
  assert.throws(
    () => releaseManifest(planned(built, 'app'), built),
    /1\.0\.0\+linux has build metadata.*Make it 1\.0\.0,/,
  )
})

test('S63 whatever the ranges are: an error, or a manifest without local ranges', () => {
  const range = fc.oneof(
    fc.constantFrom('workspace:*', 'workspace:^', 'workspace:~', 'workspace:1.x', '../core'),
    fc.constantFrom('link:../core', 'file:../x', 'portal:../core', 'npm:core@workspace:^'),
    fc.constantFrom('catalog:', '^1.0.0', '1.0.0', '*', 'latest', 'x.tgz', '/x', 'exec:./x'),
    fc.string(),
  )
  const group = fc.dictionary(fc.constantFrom('core', 'ghost', 'express', '__proto__'), range)
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...dependencyGroups), group), (groups) => {
      let released
      try {
        released = release(groups)
      } catch (error) {
        assert.ok(isError(error, 'HDL_LOCAL_RANGE'), String(error))
        return
      }
      assert.deepEqual(localRangesIn(released), [])
      for (const name of dependencyGroups) {
        assert.deepEqual(
          Object.keys((released[name] as object | undefined) ?? {}),
          Object.keys(groups[name] ?? {}),
        )
      }
    }),
  )
})
