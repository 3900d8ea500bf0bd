import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { request } from './api.ts'
import { type Loaded, useLoaded } from './loading.ts'

export interface Pages<Item> extends Loaded<{ items: Item[]; total: number }> {
  /** loads the next portion of older items; undefined if there is none */
  more: (() => Promise<void>) | undefined
}

/** A list, newest first, loaded in portions. A change of `revision` loads it again. */
export function usePages<Item>(path: string, portion: number, revision = 0): Pages<Item> {
  const older = useSignal<Item[]>([])
  const cursor = useSignal<string | undefined>(undefined)
  const { value, ...loaded } = useLoaded(async () => {
    const answer = await request<Item>('GET', `${path}?limit=${portion}`)
    older.value = []
    cursor.value = answer.next
    return answer
  }, [path])
  useEffect(() => {
    if (value) loaded.again()
  }, [revision])
  const more = async () => {
    const { data, next } = await request<Item>('GET', `${path}?limit=${portion}&after=${cursor.value}`)
    older.value = [...older.value, ...data]
    cursor.value = next
  }
  return {
    ...loaded,
    ...(value && { value: { items: [...value.data, ...older.value], total: value.total ?? value.data.length } }),
    more: cursor.value === undefined ? undefined : more,
  }
}
