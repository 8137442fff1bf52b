import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onnxModel, type Runtime } from '../onnx.ts'

/** Returns the last value of the history again and again: `onnxruntime-node` is not installed here. */
function runtime(numbers: number): Runtime {
  class Tensor {
    readonly data: Float32Array
    readonly dims: readonly number[]
    constructor(_type: 'float32', data: Float32Array, dims: readonly number[]) {
      this.data = data
      this.dims = dims
    }
  }
  const session = {
    inputNames: ['history'],
    outputNames: ['quantiles'],
    run: (feeds: Record<string, unknown>) => {
      const { data, dims } = feeds['history'] as Tensor
      assert.deepEqual(dims, [1, data.length])
      return Promise.resolve({ quantiles: { data: new Float32Array(numbers).fill(data.at(-1)!) } })
    },
  }
  return { InferenceSession: { create: () => Promise.resolve(session) }, Tensor }
}

test('a model of your own gets the history and returns the fan', async () => {
  const predict = await onnxModel('own.onnx', () => Promise.resolve(runtime(5 * 4)))
  const fan = Array.from({ length: 5 }, () => [3, 3, 3, 3])
  assert.deepEqual(await predict([1, 2, 3], 4), fan)
})

test('one that returns another shape, and a missing runtime, are named', async () => {
  const predict = await onnxModel('own.onnx', () => Promise.resolve(runtime(7)))
  await assert.rejects(predict([1], 4), /own\.onnx returned 7 numbers, expected 5 × 4/)
  await assert.rejects(onnxModel('own.onnx'), /install onnxruntime-node/)
})
