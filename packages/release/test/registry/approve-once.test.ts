import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import { approveOnce } from '../../src/registry/approve-once.ts'
import type { ArchiveStanding, Stages } from '../../src/registry/registry.ts'
import { ModelRegistry, paperPackage } from '../support/model-registry.ts'
import { virtualKernel } from '../support/virtual-time.ts'

/** A stage that another process has decided about, and no archive yet. */
class DecidedStage extends ModelRegistry {
  readonly stages: Stages = {
    list: async () => [],
    approve: async () => {
      const details = { registry: this.url, action: 'approving', status: 404, said: '', hint: '' }
      throw new HeddleError('HDL_REGISTRY_AUTH', details)
    },
    reject: async () => {},
  }

  async archives(): Promise<ArchiveStanding> {
    return { is: 'missing' }
  }
}

test('a stage that is gone was approved when its version shows, also before its archive', async () => {
  const kernel = virtualKernel()
  const other = { at: 5_000, hash: 'sha512-ours' }
  const registry = new DecidedStage({ kernel, fates: [], other })
  await kernel.clock.runUntil(approveOnce(registry, paperPackage(), 'id', { kernel }))
})

test('a stage that is gone was rejected when its version does not show', async () => {
  const kernel = virtualKernel()
  const registry = new DecidedStage({ kernel, fates: [] })
  const work = approveOnce(registry, paperPackage(), 'id', { kernel })
  await assert.rejects(kernel.clock.runUntil(work), (error) => isError(error, 'HDL_REGISTRY_AUTH'))
})
