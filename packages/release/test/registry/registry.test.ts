/** The common conformance tests of registries, run against each of them and a real server. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { isError } from '@heddle/core'
import type { PackedPackage } from '../../src/model.ts'
import { npmRegistry } from '../../src/registry/npm/npm-registry.ts'
import { pypiRegistry } from '../../src/registry/pypi/pypi-registry.ts'
import { publishOnce } from '../../src/registry/reconcile.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { waitVisible } from '../../src/registry/visible.ts'
import { startFaultProxy, type FaultProxy } from '../../src/testing/fault-proxy.ts'
import { startPypi } from '../../src/testing/pypi.ts'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'
import { packNpm, packPython, scratch } from '../support/packed.ts'

interface Implementation {
  readonly name: string
  readonly start: () => Promise<{ readonly url: string; close(): Promise<void> }>
  readonly open: (url: string) => Registry
  /** Two calls with other content are two archives for the same version. */
  readonly pack: (folder: string, name: string, content: string) => Promise<PackedPackage>
}

const implementations: readonly Implementation[] = [
  {
    name: 'npm',
    start: () => startVerdaccio(),
    open: (url) => npmRegistry({ url, token: 'anybody' }),
    pack: (folder, name, content) => packNpm(folder, name, '1.0.0', {}, { 'index.js': content }),
  },
  {
    name: 'npm, by packuments',
    start: () => startVerdaccio(),
    open: (url) => npmRegistry({ url, token: 'anybody', reads: 'packument' }),
    pack: (folder, name, content) => packNpm(folder, name, '1.0.0', {}, { 'index.js': content }),
  },
  {
    name: 'PyPI',
    start: () => startPypi(),
    open: (url) => pypiRegistry({ url }),
    pack: (folder, name, content) => packPython(folder, name, '1.0.0', content),
  },
]

for (const { name: kind, start, open, pack } of implementations) {
  suite(kind, () => {
    let server: { readonly url: string; close(): Promise<void> }
    let proxy: FaultProxy
    let registry: Registry
    let ours: Awaited<ReturnType<typeof scratch>>
    let theirs: Awaited<ReturnType<typeof scratch>>
    before(async () => {
      server = await start()
      proxy = await startFaultProxy({ target: server.url })
      registry = open(proxy.url)
      ours = await scratch()
      theirs = await scratch()
    })
    after(async () => {
      await registry.close()
      await proxy.close()
      await server.close()
      await ours[Symbol.asyncDispose]()
      await theirs[Symbol.asyncDispose]()
    })

    test('a version is absent, then ours, with hashes and addresses', async () => {
      const packed = await pack(ours.folder, 'first', 'a')
      assert.equal(await registry.read('first', '1.0.0'), undefined)
      assert.deepEqual(await registry.compare(packed), { is: 'absent' })
      await registry.upload(packed, { distTag: 'latest' })
      const found = await registry.read('first', '1.0.0')
      assert.equal(found?.version, '1.0.0')
      assert.equal(found?.integrity.size, packed.artifacts.length)
      assert.equal(found?.urls.length, packed.artifacts.length)
      assert.equal(found?.deprecated, undefined)
      assert.equal((await registry.compare(packed)).is, 'ours')
      for (const url of found.urls) assert.equal((await fetch(url)).status, 200)
    })

    test('different content is reported, and uploading it is a conflict', async () => {
      await registry.upload(await pack(theirs.folder, 'second', 'theirs'), { distTag: 'latest' })
      const packed = await pack(ours.folder, 'second', 'ours')
      assert.equal((await registry.compare(packed)).is, 'different')
      await assert.rejects(registry.upload(packed, { distTag: 'latest' }), (error) =>
        isError(error, 'HDL_VERSION_CONFLICT'),
      )
      await assert.rejects(waitVisible(registry, packed), (error) =>
        isError(error, 'HDL_VERSION_CONFLICT'),
      )
    })

    test('publishing twice uploads once', async () => {
      const packed = await pack(ours.folder, 'third', 'a')
      const first = await publishOnce(registry, packed, { distTag: 'latest' })
      const second = await publishOnce(registry, packed, { distTag: 'latest' })
      assert.deepEqual([first.outcome, second.outcome], ['accepted', 'already-published'])
      assert.equal((await waitVisible(registry, packed)).is, 'visible')
      assert.equal(proxy.uploads.get('third@1.0.0')?.sent, packed.artifacts.length)
    })

    test('a read is repeated, an upload is not', async () => {
      const packed = await pack(ours.folder, 'fourth', 'a')
      proxy.rules.add({ method: 'GET', status: 503, times: 1 })
      assert.equal((await registry.compare(packed)).is, 'absent')
      proxy.rules.add({ upload: true, status: 503, times: 1 })
      await assert.rejects(
        registry.upload(packed, { distTag: 'latest' }),
        (error) =>
          isError(error, 'HDL_REGISTRY_UNAVAILABLE') && error.details.outcome === 'unknown',
      )
      assert.equal(proxy.uploads.get('fourth@1.0.0')?.sent, 1)
    })

    test('everything that waits ends with its signal', async () => {
      const packed = await pack(ours.folder, 'fifth', 'a')
      const signal = AbortSignal.abort(new Error('enough'))
      const works: readonly (() => Promise<unknown>)[] = [
        () => registry.read('fifth', '1.0.0', { signal }),
        () => registry.compare(packed, { signal }),
        () => registry.upload(packed, { distTag: 'latest', signal }),
        () => publishOnce(registry, packed, { distTag: 'latest', signal }),
        () => waitVisible(registry, packed, { signal }),
      ]
      for (const work of works) {
        await assert.rejects(work(), (error) => isError(error, 'HDL_CANCELLED'))
      }
      assert.equal(proxy.uploads.get('fifth@1.0.0'), undefined)
    })
  })
}
