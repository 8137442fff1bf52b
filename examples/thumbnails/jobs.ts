/** The jobs: one photo in a thread, and the list of all files at the end. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { job } from '@heddle/core'
import { encodePng, shrink, takePhoto } from './image.ts'

export interface Photo {
  readonly number: number
  /** Where its thumbnail is written. */
  readonly folder: string
}

export interface Thumbnail {
  readonly file: string
  readonly bytes: number
}

/** Computes, so it runs in a thread: a photo becomes a PNG of an eighth of its width. */
export const makeThumbnail = job(
  { name: 'thumbnail', place: 'thread', module: import.meta.url },
  async ({ number, folder }: Photo): Promise<Thumbnail> => {
    const png = encodePng(shrink(takePhoto(number), 8))
    const file = `photo-${String(number).padStart(3, '0')}.png`
    await writeFile(path.join(folder, file), png)
    return { file, bytes: png.length }
  },
)

/** A page that shows all of them. */
export const makePage = job(
  { name: 'page' },
  async ({ folder, thumbnails }: { folder: string; thumbnails: readonly Thumbnail[] }) => {
    const images = thumbnails.map(({ file }) => `<img src="${file}" alt="${file}">`)
    await writeFile(path.join(folder, 'index.html'), `<!doctype html>\n${images.join('\n')}\n`)
    return thumbnails.reduce((sum, { bytes }) => sum + bytes, 0)
  },
)
