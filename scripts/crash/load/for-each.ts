const AT_ONCE = 8;

/** Some at a time. */
export async function forEach<T>(all: Iterable<T>, act: (one: T) => Promise<unknown>): Promise<void> {
  const left = [...all].toReversed();
  const some = async (): Promise<void> => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await act(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}
