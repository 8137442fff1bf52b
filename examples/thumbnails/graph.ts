/** The graph, for `heddle run graph.ts -- folder number-of-photos` and for main.ts. */
import { mkdir } from 'node:fs/promises'
import { Graph, job } from '@heddle/core'
import { makePage, makeThumbnail, type Photo } from './jobs.ts'

/** Stands for reading a folder of photos: their number is known at run time. */
const listPhotos = job(
  { name: 'list' },
  async ({ folder, count }: { folder: string; count: number }): Promise<Photo[]> => {
    await mkdir(folder, { recursive: true })
    return Array.from({ length: count }, (_, number) => ({ number, folder }))
  },
)

export default function makeGraph([
  folder = 'thumbnails',
  count = '500',
]: readonly string[]): Graph {
  const graph = new Graph()
  const photos = graph.add('list', listPhotos, { input: { folder, count: Number(count) } })
  const thumbnails = graph.map('thumbnail', makeThumbnail, { over: photos })
  graph.add('page', makePage, {
    after: [thumbnails],
    input: (of) => ({ folder, thumbnails: of(thumbnails) }),
  })
  return graph
}
