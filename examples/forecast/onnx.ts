/**
 * A model of your own: an ONNX file that takes a history of shape [1, n] and returns quantiles of shape [1, levels, ahead]. Set
 * FORECAST_MODEL to its path, and install `onnxruntime-node`, which this example does not bring.
 */
import { levels, type Fan } from './model.ts'

/** What is used of `onnxruntime-node`. */
export interface Runtime {
  readonly InferenceSession: {
    create(file: string): Promise<{
      readonly inputNames: readonly string[]
      readonly outputNames: readonly string[]
      run(feeds: Record<string, unknown>): Promise<Record<string, { readonly data: Float32Array }>>
    }>
  }
  readonly Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => unknown
}

export type Predict = (history: readonly number[], ahead: number) => Promise<Fan>

/** The runtime is loaded by its name at run time, because most users have none. */
const load = async (): Promise<Runtime> => {
  const name = 'onnxruntime-node'
  try {
    return (await import(name)) as Runtime
  } catch (cause) {
    throw new Error(`FORECAST_MODEL is set: install ${name} beside the service`, { cause })
  }
}

export async function onnxModel(file: string, runtime = load): Promise<Predict> {
  const { InferenceSession, Tensor } = await runtime()
  const session = await InferenceSession.create(file)
  const [input, output] = [session.inputNames[0]!, session.outputNames[0]!]
  return async (history, ahead) => {
    const tensor = new Tensor('float32', Float32Array.from(history), [1, history.length])
    const { data } = (await session.run({ [input]: tensor }))[output]!
    if (data.length !== levels.length * ahead) {
      throw new Error(
        `${file} returned ${data.length} numbers, expected ${levels.length} × ${ahead}`,
      )
    }
    return levels.map((_, i) => Array.from(data.subarray(i * ahead, (i + 1) * ahead)))
  }
}
