"""NSGA-II of DEAP on two columns of a table, population 20: CPU seconds of the search alone.

usage: bench_search_peer.py FILE EVALUATIONS; FILE: lines "six genes of 0-4,accuracy,latency"."""
import random
import sys
import time

from deap import algorithms, base, creator, tools

values = {}
for line in open(sys.argv[1]):
    genes, accuracy, latency = line.split(",")
    values[tuple(map(int, genes))] = float(accuracy), float(latency)

random.seed(1)
creator.create("Fitness", base.Fitness, weights=(1.0, -1.0))
creator.create("Individual", list, fitness=creator.Fitness)
box = base.Toolbox()
box.register("gene", random.randrange, 5)
box.register("individual", tools.initRepeat, creator.Individual, box.gene, 6)
box.register("population", tools.initRepeat, list, box.individual)
box.register("evaluate", lambda genes: values[tuple(genes)])
box.register("mate", tools.cxUniform, indpb=0.5)
box.register("mutate", tools.mutUniformInt, low=0, up=4, indpb=1 / 6)
box.register("select", tools.selNSGA2)

population, done, size = box.population(n=20), 20, 20
start = time.process_time()
for x in population:
    x.fitness.values = box.evaluate(x)
population = box.select(population, size)
while done < int(sys.argv[2]):
    parents = tools.selTournamentDCD(population, size)
    children = algorithms.varAnd(parents, box, 0.9, 0.5)
    for x in children:
        if not x.fitness.valid:
            x.fitness.values = box.evaluate(x)
            done += 1
    population = box.select(population + children, size)
print(time.process_time() - start)
