/** Common nouns to guess: the list of tinker-cookbook `recipes/multiplayer_rl/twenty_questions` (Apache License 2.0). */
export const nouns: ReadonlyArray<string> = (
  "actor, adult, airport, ant, apple, aunt, baby, bag, ball, balloon, banana, basket, bear, bed, bee, beef, beer, bell, bicycle, " +
  "biscuit, bird, blanket, book, bottle, box, boy, bread, brother, building, butter, cake, camera, candle, car, carpenter, carrot, " +
  "castle, cat, cave, cheese, chicken, child, city, clock, cloud, coat, coffee, computer, cookie, corn, cousin, cow, cup, dad, " +
  "daughter, dog, door, duck, eagle, egg, father, fire, fish, flag, floor, forest, fork, friend, garden, garlic, glass, " +
  "grandmother, grandfather, guitar, guest, hammer, hat, hero, hill, horse, hospital, hotel, house, husband, ice, ice cream, " +
  "island, juice, judge, kangaroo, key, kid, king, kitten, knife, ladder, lake, lamp, lady, lion, lock, man, milk, mirror, mother, " +
  "mountain, mouse, nurse, orange, parent, park, passenger, pen, pencil, person, phone, picture, pillow, pizza, potato, queen, " +
  "radio, rain, rice, ring, river, road, runner, salad, salt, sandwich, scissors, school, sea, sheep, shoe, shop, singer, sister, " +
  "snow, soldier, soup, star, stone, storm, street, student, sugar, sun, supermarket, table, tea, teacher, tomato, town, toy, " +
  "train, village, watch, water, wife, wind, window, wine, wolf, woman, writer, yogurt, zebra, zoo, zucchini"
).split(", ")
