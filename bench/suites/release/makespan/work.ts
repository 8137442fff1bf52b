/** The three things that take time, done by the release's own code on the model of a registry. */
import { seededRandom, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { publishOnce, waitVisible, type PackedPackage } from '@heddle/release'
import { ModelRegistry, pause } from './model-registry.ts'
import type { ModelPackage, ReleaseModel } from './model.ts'

export class ModelWork {
  readonly clock = new VirtualClock()
  readonly kernel: Kernel
  readonly #registry: ModelRegistry
  readonly #packages: ReadonlyMap<string, ModelPackage>

  constructor(model: ReleaseModel) {
    this.kernel = { clock: this.clock, random: seededRandom(model.seed) }
    this.#registry = new ModelRegistry(model, this.clock)
    this.#packages = new Map(model.packages.map((each) => [each.name, each]))
  }

  build(name: string): Promise<void> {
    return pause(this.clock, this.#packages.get(name)!.build)
  }

  async upload(name: string): Promise<void> {
    await publishOnce(this.#registry, packed(name), { distTag: 'latest', kernel: this.kernel })
  }

  async visible(name: string): Promise<void> {
    await waitVisible(this.#registry, packed(name), { kernel: this.kernel })
  }
}

function packed(name: string): PackedPackage {
  return { name, version: '1.0.0', ecosystem: 'npm', artifacts: [], manifest: {} }
}
