/** A worker in a few lines: claims leases of campaigns over HTTP and reports made-up results. */

export interface Delivery {
  readonly url: string
  readonly name: string
  readonly job: string
  /** The result of a lease of this many units. */
  readonly result: (units: number, lease: number) => readonly number[]
  readonly leases: number
  /** Ends without a report for the last lease, which it keeps. */
  readonly keepsLast?: boolean
}

interface Offer {
  readonly lease: string
  readonly epoch: number
  readonly work: { readonly units?: { readonly size?: number }; readonly size?: number }
}

/** Units of a lease; the rest is handed back. A fast worker gets large leases. */
const mostUnits = 40

/** Returns the ids of the leases. */
export async function deliver(delivery: Delivery): Promise<string[]> {
  const { url, name, job, result, leases } = delivery
  const worker = `${name}-process`
  const description = {
    id: worker,
    name,
    threads: 4,
    memory: 8_000,
    capabilities: ['avx2'],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: job, version: '1' }],
  }
  const send = async <T>(path: string, body: object): Promise<T> => {
    const response = await fetch(`${url}/fleet/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as T
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  await send('register', { protocol: [1], worker: description })
  const done: string[] = []
  for (let number = 1; number <= leases; number++) {
    const { offer } = await send<{ offer?: Offer }>('claim', {
      worker: description,
      request: `${worker}-${number}`,
      wait_ms: 0,
    })
    if (offer === undefined) break
    const { lease, epoch } = offer
    await send('accept', { lease, epoch, worker })
    done.push(lease)
    if (delivery.keepsLast === true && number === leases) break
    const size = sizeOf(offer)
    const units = Math.min(size, mostUnits)
    const report = { lease, epoch, worker, sequence: 1, done: units, result: result(units, number) }
    await send('update', report)
    if (units < size) {
      const message = 'enough for now'
      await send('fail', { lease, epoch, worker, stage: 'hand_back', message })
    }
  }
  return done
}

function sizeOf({ work }: Offer): number {
  const size = work.units?.size ?? work.size
  if (size === undefined) throw new Error(`an offer without a size: ${JSON.stringify(work)}`)
  return size
}
